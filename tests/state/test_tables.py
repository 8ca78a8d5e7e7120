"""The state of a table beside its objects."""

from hive.names import table_name
from state.loads import Loads
from state.records.actions import MISNAMED_EVENTS_MAX
from state.tables import ANY_TABLE, FORMER_NAMES_MAX, FormerName, TableState


def former(event: int) -> FormerName:
    return FormerName(table_name(None, "etl", f"tmp_{event}"), event)


def test_with_too_many_former_names_it_may_have_had_any() -> None:
    state = TableState(Loads(), Loads())
    for event in range(FORMER_NAMES_MAX):
        state.note_former_name(former(event))
    assert state.former_names == [former(event) for event in range(FORMER_NAMES_MAX)]
    state.note_former_name(former(FORMER_NAMES_MAX))
    assert state.former_names == [FormerName(ANY_TABLE, FORMER_NAMES_MAX)]


def test_names_that_no_event_may_use_any_more_are_forgotten() -> None:
    state = TableState(Loads(), Loads())
    for event in range(FORMER_NAMES_MAX):
        state.note_former_name(former(event))
    later = former(MISNAMED_EVENTS_MAX + 3)
    state.note_former_name(later)
    assert state.former_names == [*map(former, range(3, FORMER_NAMES_MAX)), later]
