"""What is in doubt after events that aren't understood."""

import pytest

from connectors.publish.translate import EVERYWHERE, Addressed, translate, undecodable
from hive.events.decode import HARMLESS, decode
from hive.events.event_types import ColumnImage, UpdateTableStatistics
from hive.events.row import NotificationRow
from hive.names import table_name
from hive.thrift.binary import encode
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from query_api.latest.row_effects import effects_of
from state.records.actions import PutTableStatistics, Undecodable

TABLE = table_name(None, "db", "t")
ALL: list[Addressed] = [(EVERYWHERE, Undecodable(None))]
OF_TABLE: list[Addressed] = [(TABLE, Undecodable(TABLE)), (TABLE.database, Undecodable(TABLE))]


def row(event_type: str, message: str = "{}") -> NotificationRow:
    return NotificationRow(1, 0, event_type, None, "db", "t", message, "json-0.2")


def test_an_unknown_type_may_touch_more_than_the_table_it_names() -> None:
    """Reads of the log take such a row for one that touches everything, too."""
    unknown = row("SWAP_TABLES")
    assert effects_of(unknown).everything
    assert translate(decode(unknown)) == ALL
    assert undecodable(unknown) == ALL


@pytest.mark.parametrize("event_type", sorted(HARMLESS))
def test_harmless_types_touch_nothing(event_type: str) -> None:
    assert translate(decode(row(event_type))) == []


@pytest.mark.parametrize(
    ("event_type", "doubts"),
    [("INSERT", OF_TABLE), ("RELOAD", OF_TABLE), ("ALTER_TABLE", ALL), ("ADD_FOREIGNKEY", ALL)],
)
def test_an_unreadable_row_of_a_known_type_touches_its_table_unless_it_may_name_another(
    event_type: str, doubts: list[Addressed]
) -> None:
    assert undecodable(row(event_type, "{half")) == doubts


def test_statistics_without_the_table_are_told_without_it() -> None:
    figures = {"colName": "c", "colType": "int", "statsData": {"longStats": {"numNulls": 1}}}
    event = UpdateTableStatistics(
        event_id=1,
        event_time=0,
        event_type="UPDATE_TBL_COL_STAT_EVENT",
        table=TABLE,
        image=None,
        engine="hive",
        last_analyzed=0,
        columns=(ColumnImage("c", encode(COLUMN_STATISTICS_OBJ, figures)),),
        write_id=3,
    )
    [(addressed, action)] = translate(event)
    assert addressed == TABLE
    assert isinstance(action, PutTableStatistics)
    assert (action.write_id, action.image, len(action.columns)) == (3, None, 1)
