"""What the end of the log says about targets that a shard has folded up to some event."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from hive.events.envelope import PLAIN
from hive.events.row import NotificationRow, row_from_json, row_mark
from hive.names import DEFAULT_CATALOG, TableName, table_name
from query_api.facts import Current
from query_api.latest import log_history
from query_api.latest.log_end import LogEnd, marks_of
from query_api.latest.log_history import LogHistory
from query_api.latest.row_effects import EVERYTHING, NOTHING, RowEffects, effects_of
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.targets import Target, TargetKind
from state.tables import ANY_TABLE
from tests.query_api.shards import ORDERS, SALES

LOGS = Path(__file__).parents[2] / "data" / "hive-4.2.0"
OTHER = table_name(None, "sales", "other")
TABLE, OTHER_TABLE = Target(TargetKind.TABLE, ORDERS), Target(TargetKind.TABLE, OTHER)
DB = TableName("hive", "sales", "")


def row(
    event: int, kind: str, table: str | None = "orders", db: str | None = "sales"
) -> NotificationRow:
    return NotificationRow(event, 1000, kind, None, db, table, "", PLAIN)


def real_rows(folder: str) -> list[NotificationRow]:
    return [row_from_json(line) for line in (LOGS / folder / "log.jsonl").read_bytes().splitlines()]


def of(event: int, *tables: TableName) -> tuple[int, RowEffects]:
    return event, RowEffects(tables=tables)


def test_a_target_that_no_row_touches_is_complete_up_to_now() -> None:
    log = LogEnd(0, 12, [of(11, ORDERS), of(12)])
    assert log.about(TABLE, 10) == Current(12, Reason.BEHIND)
    assert log.about(TABLE, 11) == Current(12)
    assert log.about(OTHER_TABLE, 10) == Current(12)
    assert log.about(TABLE, 12) == Current(12)
    assert log.about(TABLE, 20) == Current(12)


def test_a_row_touches_a_table_by_the_name_that_it_had() -> None:
    """A writer that had read it before its rename commits after that."""
    log = LogEnd(0, 12, [of(11, OTHER), of(12)], {ORDERS: [OTHER]})
    assert log.about(TABLE, 10) == Current(12, Reason.BEHIND)
    assert log.about(TABLE, 11) == Current(12)


def test_any_row_touches_a_table_that_may_have_had_any_name() -> None:
    log = LogEnd(0, 13, [of(11, OTHER), of(12), of(13)], {ORDERS: [ANY_TABLE]})
    assert log.about(TABLE, 10) == Current(13, Reason.BEHIND)
    assert log.about(TABLE, 11) == Current(13)


def test_any_row_touches_a_list_into_which_a_table_was_moved() -> None:
    """Its writer had read the table in another database, and drops it under that name."""
    dropped = table_name(None, "elsewhere", "orders")
    log = LogEnd(0, 12, [of(11, dropped), of(12)], {DB: [ANY_TABLE]})
    assert log.about(Target(TargetKind.NAMES, DB), 10) == Current(12, Reason.BEHIND)
    assert log.about(Target(TargetKind.NAMES, DB), 11) == Current(12)
    assert log.about(Target(TargetKind.DATABASE, DB), 10) == Current(12)


@pytest.mark.parametrize("rows", [[], [of(12)], [of(10), of(12)], [of(11)]])
def test_rows_that_are_missing_leave_a_doubt(rows: list[tuple[int, RowEffects]]) -> None:
    assert LogEnd(0, 12, rows).about(OTHER_TABLE, 10) == Current(12, Reason.GAP)


def test_everything_is_touched_by_what_can_touch_anything() -> None:
    log = LogEnd(0, 12, [(11, EVERYTHING), of(12)])
    assert log.about(OTHER_TABLE, 10).blocked is Reason.BEHIND
    assert log.about(OTHER_TABLE, 11).blocked is None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("OPEN_TXN", NOTHING),
        ("COMMIT_TXN", NOTHING),
        ("ABORT_TXN", NOTHING),
        ("ALLOC_WRITE_ID_EVENT", NOTHING),
        ("ADD_PARTITION", RowEffects(tables=(ORDERS,))),
        ("UPDATE_PART_COL_STAT_EVENT", RowEffects(tables=(ORDERS,))),
        ("DROP_CONSTRAINT", RowEffects(tables=(ORDERS,))),
        ("DROP_TABLE", RowEffects(tables=(ORDERS,), others=(Target(TargetKind.NAMES, DB),))),
        ("CREATE_FUNCTION", RowEffects(others=(Target(TargetKind.FUNCTIONS, DB),))),
        ("DROP_DATABASE", EVERYTHING),
        ("SOMETHING_NEW", EVERYTHING),
        ("ALTER_TABLE", EVERYTHING),
        ("ADD_FOREIGNKEY", EVERYTHING),
    ],
)
def test_what_a_type_touches(kind: str, expected: RowEffects) -> None:
    assert effects_of(row(1, kind)) == expected


@pytest.mark.parametrize("kind", ["DROP_TABLE", "INSERT", "ALTER_DATABASE", "DROP_FUNCTION"])
def test_a_row_without_names_touches_everything(kind: str) -> None:
    assert effects_of(row(1, kind, None, None)) == EVERYTHING


@pytest.mark.parametrize(
    "folder", ["every-event-json", "every-event-gzip", "one-writer", "four-writers"]
)
def test_of_real_logs_every_table_that_a_row_names_is_touched(folder: str) -> None:
    kinds_of_nothing = {"OPEN_TXN", "COMMIT_TXN", "ABORT_TXN", "ALLOC_WRITE_ID_EVENT"}
    for row in real_rows(folder):
        effects = effects_of(row)
        if row.event_type in kinds_of_nothing:
            assert effects == NOTHING
        elif row.db_name and row.tbl_name and not effects.everything:
            assert table_name(row.cat_name, row.db_name, row.tbl_name) in effects.tables
        else:
            assert effects.everything or effects.others


def test_both_names_of_a_rename_are_touched() -> None:
    renames = [
        found
        for one in real_rows("four-writers")
        if one.event_type == "ALTER_TABLE" and len(set((found := effects_of(one)).tables)) == 2
    ]
    assert renames
    assert all(len(found.others) == 2 for found in renames)


def test_the_child_of_a_foreign_key_is_touched() -> None:
    [foreign] = [
        effects_of(one)
        for one in real_rows("every-event-json")
        if one.event_type == "ADD_FOREIGNKEY"
    ]
    child, parent = foreign.tables
    assert child != parent
    assert child.catalog == DEFAULT_CATALOG


@pytest.mark.parametrize("kind", ["ADD_PRIMARYKEY", "ADD_FOREIGNKEY"])
@pytest.mark.parametrize("field", ["db_name", "tbl_name"])
def test_a_constraint_whose_row_names_no_table_touches_everything(field: str, kind: str) -> None:
    rows = (one for one in real_rows("every-event-json") if one.event_type == kind)
    whole = next(rows)
    assert effects_of(whole).tables
    assert effects_of(replace(whole, **{field: None})) == EVERYTHING


def test_a_row_that_is_another_one_now_is_another_history() -> None:
    history = LogHistory()
    history.note(1, [row(5, "DROP_TABLE"), row(6, "INSERT")])
    history.note(1, [row(6, "INSERT"), row(7, "INSERT")])
    history.check_position(1, 7, 7)
    assert not history.is_rewound(1)
    history.note(1, [row(7, "INSERT", "other")])
    assert history.is_rewound(1)
    assert history.is_rewound(0)
    history.note(2, [row(7, "INSERT", "other")])
    assert not history.is_rewound(2)


def test_rows_that_no_shard_has_applied_may_be_restored_away() -> None:
    history = LogHistory()
    history.check_position(1, 6, 7)
    history.note(1, [row(7, "INSERT"), row(8, "INSERT")])
    noted = history.note(1, [row(7, "INSERT", "other")])
    assert noted == [of(7, OTHER)]
    assert not history.is_rewound(1)
    history.follow(lambda epoch: {7: {row_mark(row(7, "INSERT", "other"))}})
    history.check_rows(1, [])
    history.note(1, [row(7, "INSERT")])
    assert history.is_rewound(1)


def test_a_row_that_is_not_the_one_that_was_applied_is_another_history() -> None:
    history, lost, new = LogHistory(), row(7, "INSERT"), row(7, "INSERT", "other")
    marks = {1: {7: {row_mark(lost)}, 9: {5}}}
    history.follow(lambda epoch: marks.get(epoch, {}))
    history.check_rows(1, [row(6, "INSERT", "other"), lost, row(8, "INSERT")])
    history.check_rows(2, [new])
    assert not history.is_rewound(1)
    history.check_rows(1, [row(6, "INSERT"), new])
    assert history.is_rewound(1)
    assert not history.is_rewound(2)


def test_shards_of_two_histories_are_noticed_though_one_has_that_of_the_database() -> None:
    history, lost, new = LogHistory(), row(7, "INSERT"), row(7, "INSERT", "other")
    history.follow(lambda _: {7: {row_mark(lost), row_mark(new)}})
    history.check_rows(1, [new])
    assert history.is_rewound(1)


def test_a_snapshot_with_another_row_than_the_log_is_denied() -> None:
    rows = [row(6, "INSERT"), row(7, "INSERT", "other")]
    log = LogEnd(1, 7, [of(6, ORDERS), of(7, OTHER)], marks=marks_of(rows))
    assert log.denies(Position(1, 7), row_mark(row(7, "INSERT")))
    assert not log.denies(Position(1, 7), row_mark(rows[1]))
    assert not log.denies(Position(1, 7), 0)
    assert not log.denies(Position(2, 7), row_mark(rows[0]))
    assert not log.denies(Position(1, 8), 5)


def test_a_sequence_below_what_was_applied_is_another_history() -> None:
    history = LogHistory()
    history.check_position(1, 10, 10)
    assert not history.is_rewound(1)
    history.check_position(1, 10, 9)
    assert history.is_rewound(1)
    assert not history.is_rewound(2)


def test_a_message_is_needed_once() -> None:
    alter = next(one for one in real_rows("four-writers") if one.event_type == "ALTER_TABLE")
    thin = NotificationRow(
        alter.event_id,
        alter.event_time,
        alter.event_type,
        None,
        alter.db_name,
        alter.tbl_name,
        "",
        None,
    )
    history = LogHistory()
    assert history.known_up_to(alter.event_id) == 0
    [(_, first)] = history.note(0, [alter])
    assert first.tables
    assert history.known_up_to(alter.event_id) == alter.event_id
    assert history.note(0, [thin]) == [(alter.event_id, first)]
    assert LogHistory().note(0, [thin]) == [(alter.event_id, EVERYTHING)]
    assert history.known_up_to(alter.event_id - 1) == alter.event_id - 2


def test_names_are_of_their_database() -> None:
    log = LogEnd(0, 2, [(1, effects_of(row(1, "CREATE_TABLE"))), (2, NOTHING)])
    assert SALES.db == DB.db
    assert log.about(Target(TargetKind.NAMES, DB), 0).blocked is Reason.BEHIND
    assert log.about(Target(TargetKind.NAMES, DB._replace(db="hr")), 0).blocked is None


def test_few_rows_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_history, "KEPT_ROWS", 4)
    history = LogHistory()
    for first in (1, 5):
        history.note(0, [row(event, "INSERT") for event in range(first, first + 5)])
    assert sorted(history.marks(range(20))) == [6, 7, 8, 9]
    assert history.known_up_to(6) == 9
    assert history.known_up_to(5) == 4
