"""Constraints of tables, with the field ids of Hive's IDL: one struct for each column."""

from hive.thrift.types import ListOf, Struct, boolean, i32, string

PRIMARY_KEY = Struct(
    "SQLPrimaryKey",
    (1, "table_db", string),
    (2, "table_name", string),
    (3, "column_name", string),
    (4, "key_seq", i32),
    (5, "pk_name", string),
    (6, "enable_cstr", boolean),
    (7, "validate_cstr", boolean),
    (8, "rely_cstr", boolean),
    (9, "catName", string),
)
FOREIGN_KEY = Struct(
    "SQLForeignKey",
    (1, "pktable_db", string),
    (2, "pktable_name", string),
    (3, "pkcolumn_name", string),
    (4, "fktable_db", string),
    (5, "fktable_name", string),
    (6, "fkcolumn_name", string),
    (7, "key_seq", i32),
    (8, "update_rule", i32),
    (9, "delete_rule", i32),
    (10, "fk_name", string),
    (11, "pk_name", string),
    (12, "enable_cstr", boolean),
    (13, "validate_cstr", boolean),
    (14, "rely_cstr", boolean),
    (15, "catName", string),
)
UNIQUE_CONSTRAINT = Struct(
    "SQLUniqueConstraint",
    (1, "catName", string),
    (2, "table_db", string),
    (3, "table_name", string),
    (4, "column_name", string),
    (5, "key_seq", i32),
    (6, "uk_name", string),
    (7, "enable_cstr", boolean),
    (8, "validate_cstr", boolean),
    (9, "rely_cstr", boolean),
)
NOT_NULL_CONSTRAINT = Struct(
    "SQLNotNullConstraint",
    (1, "catName", string),
    (2, "table_db", string),
    (3, "table_name", string),
    (4, "column_name", string),
    (5, "nn_name", string),
    (6, "enable_cstr", boolean),
    (7, "validate_cstr", boolean),
    (8, "rely_cstr", boolean),
)
DEFAULT_CONSTRAINT = Struct(
    "SQLDefaultConstraint",
    (1, "catName", string),
    (2, "table_db", string),
    (3, "table_name", string),
    (4, "column_name", string),
    (5, "default_value", string),
    (6, "dc_name", string),
    (7, "enable_cstr", boolean),
    (8, "validate_cstr", boolean),
    (9, "rely_cstr", boolean),
)
CHECK_CONSTRAINT = Struct(
    "SQLCheckConstraint",
    (1, "catName", string),
    (2, "table_db", string),
    (3, "table_name", string),
    (4, "column_name", string),
    (5, "check_expression", string),
    (6, "dc_name", string),
    (7, "enable_cstr", boolean),
    (8, "validate_cstr", boolean),
    (9, "rely_cstr", boolean),
)
ALL_TABLE_CONSTRAINTS = Struct(
    "SQLAllTableConstraints",
    (1, "primaryKeys", ListOf(PRIMARY_KEY)),
    (2, "foreignKeys", ListOf(FOREIGN_KEY)),
    (3, "uniqueConstraints", ListOf(UNIQUE_CONSTRAINT)),
    (4, "notNullConstraints", ListOf(NOT_NULL_CONSTRAINT)),
    (5, "defaultConstraints", ListOf(DEFAULT_CONSTRAINT)),
    (6, "checkConstraints", ListOf(CHECK_CONSTRAINT)),
)
