"""Real rows with mutated bytes, from NOTIFICATION_LOG to the state of a shard.

Whatever a row says, it is an event that can be published and folded, or an error that names it.
"""

from functools import cache
from typing import Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.publish.routing import route
from connectors.publish.translate import Addressed, translate, undecodable
from hive.errors import EventError
from hive.events.decode import decode
from hive.events.envelope import GZIP, PLAIN, open_message, seal_message
from hive.events.row import NotificationRow
from state import records
from state.export import export
from state.records import Change
from state.shard_reader import ShardReader
from state.store import MemoryStore, StorePosition
from tests.hive.events.logs import LOGS, notification_rows
from tests.support.folding import folded_into
from tests.support.mutations import NUMBERS, gentle, mutations

HOSTILE: Final = (
    *NUMBERS,
    *(b"null", b"true", b'""', b"[]", b"{}", b"[" * 2000, b'\\"', b"\\u0000", b"\\ud800", b"\xff"),
    *(b'"rec"', b'"lst"', b'"map"', b'"i64"', b'"str"', b'"tf"', b'"dbl"', b'"set"', b"\x00"),
)
BYTES_MAX: Final = 4_000_000


@cache
def corpus() -> list[NotificationRow]:
    """The shortest rows of each type in each log."""
    shortest: list[NotificationRow] = []
    for log in LOGS:
        of_log = sorted(notification_rows(log), key=lambda row: len(row.message))
        for type_ in sorted({row.event_type for row in of_log}):
            shortest += [row for row in of_log if row.event_type == type_][:2]
    return shortest


@cache
def folded() -> MemoryStore:
    """A shard that has folded a whole log."""
    store = MemoryStore()
    txn = store.transaction()
    rows = notification_rows("every-event-json")
    fold = folded_into(txn, (_change(row, translate(decode(row))) for row in rows))
    store.commit(txn, StorePosition(applied=fold.applied))
    return store


def _change(row: NotificationRow, addressed: list[Addressed]) -> Change:
    actions = route(addressed, 1).get(0, ())
    return Change(0, row.event_id - 1, row.event_id, actions)


_mutations = mutations(HOSTILE)


@st.composite
def mutated_rows(draw: st.DrawFn) -> NotificationRow:
    """In the JSON of its message, in the column that holds it, or in its other columns."""
    row = draw(st.sampled_from(corpus()))
    inside = draw(st.integers(0, 4)) > 0
    text = row.message.encode()
    if inside:
        plain = open_message(row.message, row.message_format)
        text = plain.encode() if isinstance(plain, str) else plain
    some = st.lists(gentle, min_size=1, max_size=4) | st.lists(_mutations, min_size=1, max_size=2)
    for mutate in draw(some):
        text = mutate(text)
    message = text.decode(errors="replace")
    format_ = draw(st.sampled_from([row.message_format] * 40 + [None, PLAIN, GZIP, "x"]))
    if inside and row.message_format == GZIP:
        message = seal_message(text)
    name = st.sampled_from([None, "", "\x00", "T" * 300])
    columns = draw(st.dictionaries(st.sampled_from(["cat_name", "db_name", "tbl_name"]), name))
    event_id = ShardReader(folded().snapshot()).head.applied + 1
    return msgspec.structs.replace(
        row, event_id=event_id, message=message, message_format=format_, **columns
    )


def check(row: NotificationRow) -> None:
    try:
        event = decode(row, BYTES_MAX)
    except EventError as error:
        named, addressed = error.event_id, undecodable(row)
        assert addressed, "an event was lost"
    else:
        named, addressed = event.event_id, translate(event)
    assert named == row.event_id
    change = records.decode(records.encode(_change(row, addressed)))
    txn = folded().transaction()
    assert folded_into(txn, [change]).applied == row.event_id
    export(ShardReader(txn))


@given(mutated_rows())
@settings(max_examples=400)
def test_a_mutated_row_is_an_event_or_an_error_that_names_it(row: NotificationRow) -> None:
    check(row)


@pytest.mark.torture
@pytest.mark.timeout(0)
@pytest.mark.parametrize("_part", range(20))
@given(row=mutated_rows())
@settings(max_examples=5_000, derandomize=False)
def test_many_mutated_rows_are_events_or_errors_that_name_them(
    _part: int, row: NotificationRow
) -> None:
    check(row)


@pytest.mark.parametrize("type_", sorted({row.event_type for row in corpus()}))
def test_without_a_mutation_each_type_passes(type_: str) -> None:
    for row in corpus():
        if row.event_type == type_:
            event_id = ShardReader(folded().snapshot()).head.applied + 1
            check(msgspec.structs.replace(row, event_id=event_id))
