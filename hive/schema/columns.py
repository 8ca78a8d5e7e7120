"""Column types and small parts of tables that the schema shares, for each dialect."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Index,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)
from sqlalchemy.dialects import mysql
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

MYSQL = ("mysql", "mariadb")


class Flag(TypeDecorator[bool]):
    """A boolean: MySQL keeps it in a bit(1)."""

    impl = Boolean
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(mysql.BIT(1) if dialect.name in MYSQL else Boolean())

    def process_bind_param(self, value: bool | None, dialect: Dialect) -> bool | None:
        return value

    def process_result_value(self, value: Any | None, dialect: Dialect) -> bool | None:
        return None if value is None else bool(value)


NUMBER = BigInteger().with_variant(mysql.INTEGER(), *MYSQL)
"""A time in seconds, a position or a count: MySQL's scripts use a narrower integer."""

DOUBLE: TypeEngine[float] = Double().with_variant(mysql.DOUBLE(53, 4, asdecimal=False), *MYSQL)
"""A double; MySQL's scripts round it to four decimal places."""

MEDIUM_TEXT = Text().with_variant(mysql.MEDIUMTEXT(), *MYSQL)
LONG_TEXT = Text().with_variant(mysql.LONGTEXT(), *MYSQL)
EXACT_TEXT = Text().with_variant(mysql.MEDIUMTEXT(charset="latin1", collation="latin1_bin"), *MYSQL)


def exact(length: int) -> String:
    """A case-sensitive string: in MySQL one with a binary collation, which ignores trailing
    spaces."""
    binary = mysql.VARCHAR(length, charset="latin1", collation="latin1_bin")
    return String(length).with_variant(binary, *MYSQL)


def key(name: str, type_: TypeEngine[Any] | None = None, **options: Any) -> Column[Any]:
    """A column of the primary key; the metastore assigns ids itself."""
    return Column(name, type_ or BigInteger(), primary_key=True, autoincrement=False, **options)


def member(name: str, reference: str, **options: Any) -> Column[Any]:
    """A column of the primary key that refers to another table."""
    return Column(
        name, BigInteger, ForeignKey(reference), primary_key=True, autoincrement=False, **options
    )


def table(metadata: MetaData, name: str, *items: SchemaItem, **options: Any) -> Table:
    """A table with the storage options of MySQL's scripts."""
    return Table(name, metadata, *items, mysql_engine="InnoDB", mysql_charset="latin1", **options)


def parameters(
    metadata: MetaData,
    name: str,
    owner: str,
    key_length: int = 256,
    value: TypeEngine[str] = EXACT_TEXT,
) -> Table:
    """A table of the parameters of one kind of object; owner is TABLE.COLUMN."""
    column = owner.partition(".")[2]
    return table(
        metadata,
        name,
        member(column, owner),
        key("PARAM_KEY", exact(key_length)),
        Column("PARAM_VALUE", value),
        Index(f"{name}_N49", column),
    )
