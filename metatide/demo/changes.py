"""Row changes as data, and their SQL, compiled once per shape."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import (
    JSON,
    BindParameter,
    Dialect,
    MetaData,
    String,
    Text,
    UpdateBase,
    and_,
    bindparam,
    cast,
    column,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.types import TypeEngine

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Insert:
    """Inserts rows into one table; all have the same columns."""

    table: str
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Update:
    """Updates the rows that the key columns identify; all have the same columns."""

    table: str
    keys: tuple[str, ...]
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Delete:
    """Deletes the rows of one table that hold these values."""

    table: str
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Move:
    """Updates the rows with the old values; even the columns that identify them may change."""

    table: str
    old: Row
    new: Row

    @property
    def rows(self) -> Sequence[Row]:
        """The parameters of its single statement."""
        return [{f"old_{name}": value for name, value in self.old.items()} | dict(self.new)]


Change = Insert | Update | Delete | Move


class Compiler:
    """Compiles changes to SQL text and parameters for the database's driver."""

    def __init__(self, metadata: MetaData, dialect: Dialect) -> None:
        self._metadata = metadata
        self._dialect = dialect
        self._json = dialect.name == "postgresql"
        self._texts: dict[tuple[Any, ...], str] = {}

    def compile(self, change: Change) -> tuple[str, Sequence[Row]]:
        """The statement, and the parameters of each execution.

        With PostgreSQL, one statement takes many rows as a JSON array: a single value for the
        driver to quote.
        """
        rows = change.rows
        columns = tuple(rows[0])
        keys = change.keys if isinstance(change, Update) else ()
        as_json = self._json and len(rows) > 1
        shape = (type(change), change.table, keys, columns, as_json)
        text = self._texts.get(shape)
        if text is None:
            make = self._json_text if as_json else self._text
            text = self._texts[shape] = make(change, keys, columns)
        if as_json:
            return text, [{"rows": orjson.dumps(rows).decode()}]
        return text, rows

    def _text(self, change: Change, keys: tuple[str, ...], columns: tuple[str, ...]) -> str:
        table = self._metadata.tables[change.table]
        values: dict[str, BindParameter[Any]] = {name: bindparam(name) for name in columns}
        if isinstance(change, Insert):
            compiled = insert(table).values(values).inline().compile(dialect=self._dialect)
        elif isinstance(change, Update):
            condition = and_(*(table.c[name] == values[name] for name in keys))
            new = {name: values[name] for name in columns if name not in keys}
            compiled = update(table).where(condition).values(new).compile(dialect=self._dialect)
        elif isinstance(change, Move):
            condition = and_(*(table.c[name] == values[f"old_{name}"] for name in change.old))
            moved = {name: values[name] for name in change.new}
            compiled = update(table).where(condition).values(moved).compile(dialect=self._dialect)
        else:
            condition = and_(*(table.c[name] == values[name] for name in columns))
            compiled = delete(table).where(condition).compile(dialect=self._dialect)
        return str(compiled)

    def _json_text(self, change: Change, keys: tuple[str, ...], columns: tuple[str, ...]) -> str:
        table = self._metadata.tables[change.table]
        types = ((name, _unlimited(table.c[name].type)) for name in columns)
        rows = cast(bindparam("rows", type_=Text()), JSON)
        values = func.json_to_recordset(rows).table_valued(*(column(*each) for each in types))
        values = values.render_derived("given", with_types=True)
        statement: UpdateBase
        if isinstance(change, Insert):
            statement = insert(table).from_select(columns, select(values))
        elif isinstance(change, Update):
            new = {name: values.c[name] for name in columns if name not in keys}
            condition = and_(*(table.c[name] == values.c[name] for name in keys))
            statement = update(table).where(condition).values(new)
        else:
            condition = and_(*(table.c[name] == values.c[name] for name in columns))
            statement = delete(table).where(condition)
        return str(statement.compile(dialect=self._dialect))


def _unlimited(type_: TypeEngine[Any]) -> TypeEngine[Any]:
    """The type without its length: a cast to a limited length would silently truncate values that
    the table refuses.
    """
    return Text() if isinstance(type_, String) else type_
