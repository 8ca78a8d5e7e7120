"""Constraints of tables, with the field names of Hive's Thrift."""

from metatide.client.hive_struct import HiveStruct


class SQLPrimaryKey(HiveStruct, frozen=True):
    """A column of a primary key."""

    table_db: str | None = None
    table_name: str | None = None
    column_name: str | None = None
    key_seq: int | None = None
    pk_name: str | None = None
    enable_cstr: bool | None = None
    validate_cstr: bool | None = None
    rely_cstr: bool | None = None
    catName: str | None = None


class SQLForeignKey(HiveStruct, frozen=True):
    """A column of a foreign key."""

    pktable_db: str | None = None
    pktable_name: str | None = None
    pkcolumn_name: str | None = None
    fktable_db: str | None = None
    fktable_name: str | None = None
    fkcolumn_name: str | None = None
    key_seq: int | None = None
    update_rule: int | None = None
    delete_rule: int | None = None
    fk_name: str | None = None
    pk_name: str | None = None
    enable_cstr: bool | None = None
    validate_cstr: bool | None = None
    rely_cstr: bool | None = None
    catName: str | None = None


class SQLUniqueConstraint(HiveStruct, frozen=True):
    """A column whose values are unique."""

    catName: str | None = None
    table_db: str | None = None
    table_name: str | None = None
    column_name: str | None = None
    key_seq: int | None = None
    uk_name: str | None = None
    enable_cstr: bool | None = None
    validate_cstr: bool | None = None
    rely_cstr: bool | None = None


class SQLNotNullConstraint(HiveStruct, frozen=True):
    """A column without nulls."""

    catName: str | None = None
    table_db: str | None = None
    table_name: str | None = None
    column_name: str | None = None
    nn_name: str | None = None
    enable_cstr: bool | None = None
    validate_cstr: bool | None = None
    rely_cstr: bool | None = None


class SQLDefaultConstraint(HiveStruct, frozen=True):
    """The default of a column."""

    catName: str | None = None
    table_db: str | None = None
    table_name: str | None = None
    column_name: str | None = None
    default_value: str | None = None
    dc_name: str | None = None
    enable_cstr: bool | None = None
    validate_cstr: bool | None = None
    rely_cstr: bool | None = None


class SQLCheckConstraint(HiveStruct, frozen=True):
    """A condition on a column."""

    catName: str | None = None
    table_db: str | None = None
    table_name: str | None = None
    column_name: str | None = None
    check_expression: str | None = None
    dc_name: str | None = None
    enable_cstr: bool | None = None
    validate_cstr: bool | None = None
    rely_cstr: bool | None = None


class SQLAllTableConstraints(HiveStruct, frozen=True):
    """The constraints of a table."""

    primaryKeys: list[SQLPrimaryKey] | None = None
    foreignKeys: list[SQLForeignKey] | None = None
    uniqueConstraints: list[SQLUniqueConstraint] | None = None
    notNullConstraints: list[SQLNotNullConstraint] | None = None
    defaultConstraints: list[SQLDefaultConstraint] | None = None
    checkConstraints: list[SQLCheckConstraint] | None = None
