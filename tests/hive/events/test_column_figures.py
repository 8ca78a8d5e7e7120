"""The figures of columns in events are those that the metastore returns."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.column_statistics import returned_figures, stored_figures
from hive.events.column_figures import column_image
from hive.thrift.binary import encode
from hive.thrift.structs import COLUMN_STATISTICS_DATA, COLUMN_STATISTICS_OBJ
from hive.thrift.tjson import dumps, loads
from hive.thrift.types import Field, Struct, Type
from tests.hive.thrift.objects import values

BIT_VECTORS = st.sampled_from((b"", b"HL", b"HL\x01", b"x" * 9))
HISTOGRAMS = st.sampled_from((b"", b"k"))
TYPES = {
    "booleanStats": "boolean",
    "longStats": "bigint",
    "doubleStats": "double",
    "stringStats": "STRING",
    "binaryStats": "binary",
    "decimalStats": "decimal(9,2)",
    "dateStats": "date",
    "timestampStats": "timestamp",
}
OTHER_TYPES = st.sampled_from([*TYPES.values(), "tinyint", "varchar(9)", "map<int,int>"])


def columns(kind: Field) -> st.SearchStrategy[dict[str, Any]]:
    """Columns with figures of one kind, some of which may be missing."""
    assert isinstance(kind.type, Struct)
    special = {"bitVectors": BIT_VECTORS, "histogram": HISTOGRAMS}
    all_figures = {
        field.name: special[field.name] if field.name in special else figure(field.type)
        for field in kind.type.fields
    }
    whole, partial = (
        st.fixed_dictionaries(all_figures),
        st.fixed_dictionaries({}, optional=all_figures),
    )
    return st.fixed_dictionaries(
        {
            "colName": st.text("aB", min_size=1),
            "colType": st.just(TYPES[kind.name]) | OTHER_TYPES,
            "statsData": st.fixed_dictionaries({kind.name: whole | partial}),
        }
    )


def figure(type_: Type) -> st.SearchStrategy[Any]:
    if isinstance(type_, Struct):
        return st.fixed_dictionaries({field.name: values(field.type) for field in type_.fields})
    return values(type_)


@pytest.mark.parametrize("kind", COLUMN_STATISTICS_DATA.fields, ids=lambda kind: kind.name)
@given(st.data())
def test_figures_are_those_of_the_columns_type(kind: Field, data: st.DataObject) -> None:
    column = data.draw(columns(kind))
    returned = returned_figures(column["colType"], stored_figures(column["statsData"]))
    image = column_image(loads(dumps(COLUMN_STATISTICS_OBJ, column)))
    assert image.name == column["colName"].lower()
    assert image.data == encode(COLUMN_STATISTICS_OBJ, {**column, "statsData": returned})


def test_a_date_without_days_is_refused() -> None:
    column = {"colName": "a", "colType": "date", "statsData": {"dateStats": {"lowValue": {}}}}
    with pytest.raises(ValueError, match="not enough values"):
        column_image(loads(dumps(COLUMN_STATISTICS_OBJ, column)))
