"""Makes images of the column statistics in an event's parsed TJSON."""

from typing import Any, Final, NamedTuple

from hive.column_statistics import OPTIONAL_FIGURES, figures_kind, returned_figures, stored_figures
from hive.events.event_types import ColumnImage
from hive.thrift.binary import decode, encode
from hive.thrift.statistics import (
    COLUMN_STATISTICS_DATA,
    COLUMN_STATISTICS_OBJ,
    DOUBLE_STATS,
    LONG_STATS,
    STRING_STATS,
)
from hive.thrift.tjson import transcode_value
from hive.thrift.types import Field, Struct


class _FigureIds(NamedTuple):
    """The fields of a kind of figures in TJSON."""

    kind: str
    required: frozenset[str]
    described: frozenset[str]


def column_image(item: dict[str, Any]) -> ColumnImage:
    """The figures of a column that the metastore returns, whatever kind the client sent."""
    data = transcode_value(COLUMN_STATISTICS_OBJ, item)
    if not _is_returned_as_sent(item):
        sent = decode(COLUMN_STATISTICS_OBJ, data)
        figures = returned_figures(sent["colType"], stored_figures(sent["statsData"]))
        data = encode(COLUMN_STATISTICS_OBJ, {**sent, "statsData": figures})
    return ColumnImage(item["1"]["str"].lower(), data)


def _is_returned_as_sent(item: dict[str, Any]) -> bool:
    """Whether the metastore certainly returns these figures as they were sent, as it mostly does.
    Finding out costs a tenth of converting them."""
    ((union_id, typed),) = item["3"]["rec"].items()
    ids = _UNCHANGED.get(union_id)
    if ids is None or ids.kind != figures_kind(item["2"]["str"]) or len(item) != _ITEM_FIELDS:
        return False
    figures: dict[str, Any] = typed["rec"]
    if not ids.required <= figures.keys() <= ids.described:
        return False
    bit_vector, histogram = figures.get(_BIT_VECTOR), figures.get(_HISTOGRAM)
    return (bit_vector is None or bit_vector["str"] not in _NO_BIT_VECTOR) and (
        histogram is None or histogram["str"] != ""
    )


_ITEM_FIELDS: Final = len(COLUMN_STATISTICS_OBJ.fields)
_BIT_VECTOR, _HISTOGRAM = "5", "6"
_NO_BIT_VECTOR: Final = ("SEw", "SEw=")
"""The base64 forms of a bit vector's bare header, which the metastore doesn't return."""


def _figure_ids(union_field: Field) -> _FigureIds:
    assert isinstance(union_field.type, Struct)
    ids = {str(field.id): field.name for field in union_field.type.fields}
    required = frozenset(id_ for id_, name in ids.items() if name not in OPTIONAL_FIGURES)
    return _FigureIds(union_field.name, required, frozenset(ids))


_UNCHANGED: Final = {
    str(field.id): _figure_ids(field)
    for field in COLUMN_STATISTICS_DATA.fields
    if field.type in (LONG_STATS, DOUBLE_STATS, STRING_STATS)
}
"""The kinds of figures that the metastore neither converts nor leaves out, by their ids in the
union."""
