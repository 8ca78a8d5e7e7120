"""Reads the details of objects from tables of their own: one statement for all kinds and many
owners."""

from collections.abc import Callable, Collection
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    CompoundSelect,
    Dialect,
    Select,
    String,
    Text,
    bindparam,
    cast,
    func,
    literal_column,
    null,
    select,
    union_all,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import UserDefinedType

from hive.reader.rows.details import EMPTY, DetailKind, Details
from hive.reader.snapshot import DatabaseSnapshot
from hive.schema import Version, metadata


class Owner(Enum):
    """The kinds of objects that have details."""

    DATABASE = "databases"
    FUNCTION = "functions"
    TABLE = "tables"
    PARTITION = "partitions"
    COLUMNS = "columns"
    STORAGE = "storages"
    SERDE = "serdes"


class Source(NamedTuple):
    """The columns that hold details of one kind: the owner's id, the place and the texts."""

    owner: Owner
    kind: DetailKind
    table: str
    id: str
    place: str | None
    texts: tuple[str, ...]


_PAIR = ("PARAM_KEY", "PARAM_VALUE")
_SOURCES = (
    Source(Owner.DATABASE, DetailKind.DATABASE_PARAMETER, "DATABASE_PARAMS", "DB_ID", None, _PAIR),
    Source(
        Owner.FUNCTION,
        DetailKind.RESOURCE,
        "FUNC_RU",
        "FUNC_ID",
        "INTEGER_IDX",
        ("RESOURCE_TYPE", "RESOURCE_URI"),
    ),
    Source(Owner.TABLE, DetailKind.TABLE_PARAMETER, "TABLE_PARAMS", "TBL_ID", None, _PAIR),
    Source(
        Owner.TABLE,
        DetailKind.PARTITION_KEY,
        "PARTITION_KEYS",
        "TBL_ID",
        "INTEGER_IDX",
        ("PKEY_NAME", "PKEY_TYPE", "PKEY_COMMENT"),
    ),
    Source(
        Owner.PARTITION,
        DetailKind.PARTITION_VALUE,
        "PARTITION_KEY_VALS",
        "PART_ID",
        "INTEGER_IDX",
        ("PART_KEY_VAL",),
    ),
    Source(
        Owner.PARTITION, DetailKind.PARTITION_PARAMETER, "PARTITION_PARAMS", "PART_ID", None, _PAIR
    ),
    Source(
        Owner.COLUMNS,
        DetailKind.COLUMN,
        "COLUMNS_V2",
        "CD_ID",
        "INTEGER_IDX",
        ("COLUMN_NAME", "TYPE_NAME", "COMMENT"),
    ),
    Source(Owner.STORAGE, DetailKind.STORAGE_PARAMETER, "SD_PARAMS", "SD_ID", None, _PAIR),
    Source(
        Owner.STORAGE,
        DetailKind.BUCKET_COLUMN,
        "BUCKETING_COLS",
        "SD_ID",
        "INTEGER_IDX",
        ("BUCKET_COL_NAME",),
    ),
    Source(
        Owner.STORAGE,
        DetailKind.SORT_COLUMN,
        "SORT_COLS",
        "SD_ID",
        "INTEGER_IDX",
        ("COLUMN_NAME", "ORDER"),
    ),
    Source(
        Owner.STORAGE,
        DetailKind.SKEWED_COLUMN,
        "SKEWED_COL_NAMES",
        "SD_ID",
        "INTEGER_IDX",
        ("SKEWED_COL_NAME",),
    ),
    Source(Owner.SERDE, DetailKind.SERDE_PARAMETER, "SERDE_PARAMS", "SERDE_ID", None, _PAIR),
)
_TEXTS = 3

Ids = dict[Owner, Collection[int]]


def read_details(snapshot: DatabaseSnapshot, ids: Ids) -> Details:
    """All details of these owners; a second statement follows only if there is skew."""
    wanted = tuple(owner for owner in Owner if ids.get(owner))
    if not wanted:
        return Details()
    parameters = {owner.value: list(ids[owner]) for owner in wanted}
    details = Details(snapshot.rows(_statement(snapshot.version, wanted), parameters))
    if details.any(DetailKind.SKEWED_COLUMN):
        skewed = {Owner.STORAGE.value: parameters[Owner.STORAGE.value]}
        details.add(snapshot.rows(_skew_statement(snapshot.version), skewed))
    return details


@cache
def _statement(version: Version, owners: tuple[Owner, ...]) -> CompoundSelect[Any]:
    return union_all(*(_select(version, source) for source in _SOURCES if source.owner in owners))


def _select(version: Version, source: Source) -> Select[Any]:
    columns = metadata(version).tables[source.table].c
    texts = [_text(columns[name]) for name in source.texts]
    texts += [cast(null(), Text)] * (_TEXTS - len(texts))
    place = literal_column("0") if source.place is None else columns[source.place]
    kind: ColumnElement[int] = literal_column(str(int(source.kind)))
    statement = select(kind, columns[source.id], place, *texts)
    return statement.where(has_id(columns[source.id], source.owner.value))


def _text(column: Column[Any]) -> Any:
    return column if isinstance(column.type, String) else cast(column, String(20))


@cache
def _skew_statement(version: Version) -> CompoundSelect[Any]:
    """Lists of values with a row for each value; an empty list has a row of its own."""
    tables = metadata(version).tables
    of = Owner.STORAGE.value
    lists, places = tables["SKEWED_VALUES"].c, tables["SKEWED_COL_VALUE_LOC_MAP"].c
    values = tables["SKEWED_STRING_LIST_VALUES"]
    place = func.coalesce(values.c.INTEGER_IDX, literal_column(str(EMPTY)))
    return union_all(
        select(
            literal_column(str(int(DetailKind.SKEWED_VALUE))),
            lists.SD_ID_OID,
            place,
            values.c.STRING_LIST_VALUE,
            cast(lists.INTEGER_IDX, String(20)),
            cast(null(), Text),
        )
        .outerjoin_from(
            tables["SKEWED_VALUES"], values, lists.STRING_LIST_ID_EID == values.c.STRING_LIST_ID
        )
        .where(has_id(lists.SD_ID_OID, of)),
        select(
            literal_column(str(int(DetailKind.SKEWED_LOCATION))),
            places.SD_ID,
            place,
            values.c.STRING_LIST_VALUE,
            cast(places.STRING_LIST_ID_KID, String(20)),
            places.LOCATION,
        )
        .outerjoin_from(
            tables["SKEWED_COL_VALUE_LOC_MAP"],
            values,
            places.STRING_LIST_ID_KID == values.c.STRING_LIST_ID,
        )
        .where(has_id(places.SD_ID, of)),
    )


class _Ids(UserDefinedType[Collection[int]]):
    """Whole numbers as one parameter."""

    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], str]:
        return lambda ids: f"{{{_joined(ids)}}}"

    def literal_processor(self, dialect: Dialect) -> Callable[[Any], str]:
        return lambda ids: f"({_joined(ids)})"


def _joined(ids: Collection[int]) -> str:
    return ",".join(map(str, map(int, ids)))


class _HasId(FunctionElement[bool]):
    """A column, and a parameter for the ids that it may have."""

    type = Boolean()
    inherit_cache = True


@compiles(_HasId)
def _write_list(element: _HasId, compiler: SQLCompiler, **options: Any) -> str:
    """Renders the ids into the text: drivers limit the number of parameters, and rendering
    thousands one by one takes longer than finding them."""
    column, ids = element.clauses
    texts = compiler.process(column, **options), compiler.process(ids, literal_execute=True)
    return " IN ".join(texts)


@compiles(_HasId, "postgresql")
def _write_array(element: _HasId, compiler: SQLCompiler, **options: Any) -> str:
    """Renders one array parameter: a list in the text takes longer to parse and plan than to
    execute.

    The planner mustn't see the number of ids: without column statistics it would expect each id to
    match a two-hundredth of the table, and read the whole table for the sake of a page.
    """
    column, ids = element.clauses
    unseen = f"CAST((SELECT CAST({compiler.process(ids)} AS BIGINT[])) AS BIGINT[])"
    return f"{compiler.process(column, **options)} = ANY({unseen})"


def has_id(column: Column[int], name: str) -> ColumnElement[bool]:
    """A condition with a parameter for one to thousands of ids."""
    return _HasId(column, bindparam(name, type_=_Ids()))
