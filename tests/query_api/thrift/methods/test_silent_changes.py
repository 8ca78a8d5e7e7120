"""What no event tells is read from the database."""

from typing import Any

import pytest

from hive.errors import UnansweredError
from hive.thrift import requests
from hive.thrift.binary import encode
from query_api.consistency import Consistency
from query_api.database_answer import DatabaseAnswer
from query_api.positions import Position
from query_api.reasons import Reason, Source
from query_api.thrift.call import Call, CallAnswer, Client, RelayReason
from query_api.thrift.methods.outcome import texts
from tests.query_api.shards import MemoryShards, database_image
from tests.query_api.thrift.methods.cached_calls import EVENT, Current, cached, call, now, reason
from tests.query_api.thrift.methods.comparison import whole


class Answering(Current):
    """A database that answers every read alike, with what it has reached."""

    def __init__(self, answer: DatabaseAnswer[Any] | UnansweredError) -> None:
        super().__init__()
        self._answer = answer
        self.reads_count = 0

    async def answer(self, read: Any) -> Any:
        self.reads_count += 1
        if isinstance(self._answer, UnansweredError):
            raise self._answer
        return self._answer


CURRENT_EVENT = "get_current_notificationEventId"
ROLES = DatabaseAnswer(texts(["admin"]), EVENT)
SILENT = (
    call("get_role_names"),
    call("get_functions", dbName="sales", pattern="*"),
    call("get_valid_write_ids", rqst=encode(requests.VALID_WRITE_IDS, {"fullTableNames": []})),
)


@pytest.mark.parametrize("consistency", [Consistency.LATEST, Consistency.WITHIN, Consistency.ANY])
def test_what_no_event_tells_is_read_anew_each_time(
    source: MemoryShards, consistency: Consistency
) -> None:
    database = Answering(ROLES)
    cache = cached(source, consistency, database=database)
    cache.set_open_txn_timeout(1000)
    for number, question in enumerate(SILENT * 2, 1):
        assert cache.answer_now(question) is None
        outcome = now(cache, question)
        assert isinstance(outcome, CallAnswer)
        assert (outcome.source, outcome.reason) == (Source.DATABASE, Reason.DATABASE_ONLY)
        assert (outcome.position, outcome.moment) == (Position(0, EVENT), None)
        assert database.reads_count == number


def test_a_database_that_lags_behind_the_clients_own_writes_does_not_answer(
    source: MemoryShards,
) -> None:
    cache = cached(source, database=Answering(ROLES))
    for event, is_answered in ((EVENT, True), (EVENT + 1, False)):
        question = call("get_role_names")
        question.min_position = Position(0, event)
        outcome = now(cache, question)
        assert isinstance(outcome, CallAnswer) == is_answered
        assert is_answered or reason(outcome) is Reason.BEHIND


def test_what_no_event_tells_is_relayed_while_the_database_does_not_answer(
    source: MemoryShards,
) -> None:
    cache = cached(source, database=Answering(UnansweredError("it is down", 1.0)))
    assert reason(now(cache, call("get_role_names"))) is Reason.UNREAD


def test_what_the_database_tells_is_relayed_until_the_epoch_of_that_is_known() -> None:
    source = MemoryShards(None)
    source.epoch = None
    cache = cached(source, database=Answering(ROLES))
    for question in (call("get_role_names"), Call(CURRENT_EVENT, b"\0", Client())):
        assert reason(now(cache, question)) is Reason.UNREAD
    source.epoch = 1
    outcome = now(cache, call("get_role_names"))
    assert isinstance(outcome, CallAnswer)
    assert outcome.position == Position(1, EVENT)


def test_open_transactions_are_relayed_until_their_time_limit_is_told(
    source: MemoryShards,
) -> None:
    cache = cached(source, database=Answering(DatabaseAnswer(b"\0", EVENT)))
    assert reason(now(cache, call("get_open_txns"))) is RelayReason.FORM
    cache.set_open_txn_timeout(1000)
    assert isinstance(now(cache, call("get_open_txns")), CallAnswer)


def test_a_database_whose_details_may_have_changed_silently_is_read(source: MemoryShards) -> None:
    database = Answering(DatabaseAnswer(database_image().data, EVENT))
    cache = cached(source, Consistency.LATEST, database=database)
    cache.set_warehouse("file:/elsewhere")
    outcome = now(cache, call("get_database", name="sales"))
    assert isinstance(outcome, CallAnswer)
    assert (outcome.source, outcome.reason) == (Source.DATABASE, Reason.SILENT_LOG)
    assert b"s3a://lake/sales" in whole(outcome)
    under_any = cached(source, database=database)
    under_any.set_warehouse("file:/elsewhere")
    outcome = now(under_any, call("get_database", name="sales"))
    assert isinstance(outcome, CallAnswer)
    assert (outcome.source, database.reads_count) == (Source.CACHE, 1)
