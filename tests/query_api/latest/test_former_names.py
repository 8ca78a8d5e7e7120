"""Former names are remembered for as long as rows of the log may use them."""

from collections.abc import Iterator

import pytest

from hive.names import TableName, table_name
from query_api.consistency import Consistency
from query_api.facts import Facts
from query_api.latest import former_names
from query_api.latest.former_names import FORGETS_FROM, KEPT_EVENTS, FormerNames
from query_api.latest.log_history import LogHistory
from query_api.positions import Position
from query_api.reads import GetTable
from query_api.reasons import Reason
from query_api.requirement import Requirement
from query_api.resolver import inspection
from query_api.resolver.inspection import Inspection
from query_api.shards import Views
from state.records.actions import MISNAMED_EVENTS_MAX
from tests.query_api.shards import MemoryShard, MemoryShards, change

DROPPED = 20_000
FEWER_EVENTS = 10_000
LATEST = Requirement(Consistency.LATEST, must_be_current=True)


def name(number: int, stem: str = "final") -> TableName:
    return table_name(None, "etl", f"{stem}_{number}")


@pytest.fixture(autouse=True)
def _short_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert KEPT_EVENTS > MISNAMED_EVENTS_MAX
    monkeypatch.setattr(former_names, "KEPT_EVENTS", FEWER_EVENTS)


def test_names_of_dropped_tables_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    history, views = LogHistory(), Views(MemoryShards(MemoryShard(change(1))))
    facts: Iterator[Facts] = iter(())
    gone = Facts(Position(0, 1), Reason.COLD, "never_loaded")
    monkeypatch.setattr(inspection, "cached_facts", lambda reader, target: next(facts, gone))
    highest = 0
    for number in range(DROPPED):
        facts = iter([Facts(Position(0, 2 * number), former_names=(name(number, "tmp"),))])
        for _ in range(2):
            judged = Inspection(views, views.reader, history, LATEST, None)
            judged.judge(GetTable(name(number)))
        highest = max(highest, len(history.former_names))

    assert highest < 3 * FEWER_EVENTS // 2 < DROPPED
    assert history.former_names[name(DROPPED - 1)] == (name(DROPPED - 1, "tmp"),)


def test_what_rows_may_use_is_kept() -> None:
    names = FormerNames()
    events = range(3 * FEWER_EVENTS)
    for event in events:
        names.note(name(event), (name(event, "tmp"),), event)
        for earlier in {event, max(0, event - FEWER_EVENTS)}:
            assert name(earlier) in names
    assert len(names) < 2 * FEWER_EVENTS + FORGETS_FROM


def test_a_table_without_former_names_is_forgotten() -> None:
    names = FormerNames()
    names.note(name(1), (name(2),), 1)
    assert names.get(name(1)) == (name(2),)
    assert list(names) == [name(1)]
    names.note(name(1), (), 2)
    assert (name(1) in names, len(names), names.get(name(1))) == (False, 0, None)
