"""Events that name a table as it was called before a rename."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.publish.renames import Renames
from connectors.publish.translate import Addressed, misnamed, translate
from hive.events import event_types
from hive.events.row import NotificationRow
from hive.names import TableName, table_name
from state.records.actions import MISNAMED_EVENTS_MAX, Misnamed, RenameTable
from tests.connectors.publish.events import ID, alter, drop, drop_constraint, rename

OLD, NEW, THIRD = (table_name(None, "db", name) for name in ("old", "new", "third"))
OTHER = table_name(None, "elsewhere", "new")


def after(*events: event_types.Event) -> list[Addressed]:
    """What the last one of some events does."""
    renames = Renames()
    addressed: list[Addressed] = []
    for event in events:
        addressed = renames.address(event)
    return addressed


def called_before(event: event_types.Event, *names: TableName) -> list[Addressed]:
    """What a rename does to a table that had these names, too."""
    return [
        (address, msgspec.structs.replace(action, former=names))
        if isinstance(action, RenameTable)
        else (address, action)
        for address, action in translate(event)
    ]


def test_without_a_rename_an_event_does_what_it_says() -> None:
    assert after(alter(1, OLD)) == translate(alter(1, OLD))


@pytest.mark.parametrize("late", [alter(2, OLD), drop(2, OLD)])
def test_a_late_event_is_about_the_renamed_table_alone(late: event_types.Event) -> None:
    assert after(rename(1, OLD, NEW), late) == misnamed(NEW)


def test_it_follows_several_renames() -> None:
    late = alter(3, OLD)
    assert after(rename(1, OLD, NEW), rename(2, NEW, OTHER), late) == [
        *misnamed(NEW),
        *misnamed(OTHER),
    ]


def test_another_table_of_the_old_name_is_not_the_renamed_one() -> None:
    other = alter(2, OLD, ID + 1)
    assert after(rename(1, OLD, NEW), other) == translate(other)


def test_an_event_without_an_id_may_be_about_both() -> None:
    late = drop_constraint(2, OLD)
    assert after(rename(1, OLD, NEW), late) == [*translate(late), *misnamed(NEW, hanging=True)]


def test_a_rename_that_read_the_old_name_moves_the_renamed_table() -> None:
    late = rename(2, OLD, THIRD)
    assert after(rename(1, OLD, NEW), late) == [*called_before(late, NEW), *misnamed(NEW)]


def test_an_event_between_two_renames_that_read_the_same_name_is_about_the_last() -> None:
    late = alter(3, NEW)
    assert after(rename(1, OLD, NEW), rename(2, OLD, THIRD), late) == misnamed(THIRD)


def test_a_rename_tells_by_which_names_late_events_may_call_its_table() -> None:
    last = rename(2, NEW, THIRD)
    assert after(rename(1, OLD, NEW), last) == called_before(last, OLD)
    other = rename(2, NEW, THIRD, ID + 1)
    assert after(rename(1, OLD, NEW), other) == translate(other)
    late = rename(3, NEW, OTHER)
    both = (rename(1, OLD, NEW), rename(2, NEW, THIRD))
    assert after(*both, late)[:4] == called_before(late, OLD, THIRD)
    later = rename(2 + MISNAMED_EVENTS_MAX, NEW, THIRD)
    assert after(rename(1, OLD, NEW), later) == translate(later)


def test_a_name_that_was_given_back_is_the_tables_own() -> None:
    late = alter(3, OLD)
    assert after(rename(1, OLD, NEW), rename(2, NEW, OLD), late) == translate(late)


def test_a_rename_is_forgotten_when_no_writer_can_have_read_before_it() -> None:
    late = alter(2 + MISNAMED_EVENTS_MAX, OLD)
    assert after(rename(1, OLD, NEW), late) == translate(late)


def test_a_name_that_two_renames_left_counts_until_both_are_old() -> None:
    renames = Renames()
    first, second = rename(1, OLD, NEW), rename(2, OLD, THIRD, ID + 1)
    for event in (first, second):
        renames.address(event)
    late = drop_constraint(2 + MISNAMED_EVENTS_MAX, OLD)
    assert renames.address(late) == [*translate(late), *misnamed(THIRD, hanging=True)]
    later = drop_constraint(3 + MISNAMED_EVENTS_MAX, OLD)
    assert renames.address(later) == translate(later)


def test_rows_that_can_not_be_read_are_no_renames() -> None:
    unread = NotificationRow(1, 0, "ALTER_TABLE", None, "db", "old", "{half", "json-0.2")
    renames = Renames([unread])
    late = alter(2, OLD)
    assert renames.address(late) == translate(late)


def linear(history: list[event_types.AlterTable], name: TableName, id_: int) -> set[TableName]:
    """The other names that a table of this name and id may have after renames, by their order."""
    names = {name}
    for event in history:
        if event.before in names and not (id_ and event.image.id and event.image.id != id_):
            names = {name} if event.table == name else {*names, event.table}
    return names - {name}


NAMES = [table_name(None, "db", name) for name in "abcd"]
changes = st.tuples(
    st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from([0, ID, ID + 1])
).filter(lambda change: change[0] != change[1])


@given(st.lists(changes, max_size=8), st.sampled_from(NAMES))
def test_a_late_event_goes_to_all_names_that_the_table_may_have(
    changed: list[tuple[TableName, TableName, int]], name: TableName
) -> None:
    history = [rename(at, *change) for at, change in enumerate(changed, 1)]
    for id_, late in ((0, drop_constraint(99, name)), (ID, alter(99, name, ID))):
        may_have = linear(_with_names_between(history), name, id_)
        addressed = after(*history, late)
        misnamed_tables = {action.table for _, action in addressed if isinstance(action, Misnamed)}
        assert misnamed_tables == may_have


def _with_names_between(
    history: list[event_types.AlterTable],
) -> list[event_types.AlterTable]:
    """A rename is also one of the names that the table has got since its writer had read it."""
    noted: list[event_types.AlterTable] = []
    for event in history:
        between = linear(noted, event.before, event.image.id)
        for old in {event.before, *between} - {event.table}:
            noted.append(rename(event.event_id, old, event.table, event.image.id))
    return noted
