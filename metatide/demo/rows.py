"""Objects as rows of the metastore's tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from metatide.demo.changes import Change, Delete, Insert, Row, Update
from metatide.demo.objects import Columns, Database, Partition, Storage, Table
from metatide.demo.structs import CATALOG, OWNER

OWNER_TYPE = "USER"


def parameter_rows(key: str, id_: int, parameters: Mapping[str, str]) -> list[Row]:
    """Rows of one of the parameter tables."""
    return [
        {key: id_, "PARAM_KEY": name, "PARAM_VALUE": value} for name, value in parameters.items()
    ]


def replace_parameters(
    table: str, key: str, id_: int, before: Mapping[str, str], after: Mapping[str, str]
) -> list[Change]:
    """The changes that turn one set of parameters into another."""
    gone = [{key: id_, "PARAM_KEY": name} for name in before if name not in after]
    new = {name: value for name, value in after.items() if name not in before}
    other = {n: value for n, value in after.items() if before.get(n, value) != value}
    return [
        *some(Delete(table, gone)),
        *some(Update(table, (key, "PARAM_KEY"), parameter_rows(key, id_, other))),
        *some(Insert(table, parameter_rows(key, id_, new))),
    ]


def some(*changes: Change) -> list[Change]:
    """The changes that have any rows."""
    return [change for change in changes if change.rows]


def insert_database(database: Database) -> list[Change]:
    row = {
        "DB_ID": database.id,
        "DESC": database.description,
        "DB_LOCATION_URI": database.location,
        "NAME": database.name,
        "OWNER_NAME": OWNER,
        "OWNER_TYPE": OWNER_TYPE,
        "CTLG_NAME": CATALOG,
        "CREATE_TIME": database.create_time,
        "DB_MANAGED_LOCATION_URI": database.managed_location,
        "TYPE": "NATIVE",
    }
    parameters = parameter_rows("DB_ID", database.id, database.parameters)
    return some(Insert("DBS", [row]), Insert("DATABASE_PARAMS", parameters))


def delete_database(database: Database) -> list[Change]:
    """Deletes an empty database."""
    keys = [{"DB_ID": database.id}]
    return [Delete("DATABASE_PARAMS", keys), Delete("DBS", keys)]


def insert_columns(columns: Columns) -> list[Change]:
    """Inserts a column descriptor."""
    rows = [
        {
            "CD_ID": columns.id,
            "COMMENT": column.comment,
            "COLUMN_NAME": column.name,
            "TYPE_NAME": column.type,
            "INTEGER_IDX": place,
        }
        for place, column in enumerate(columns.fields)
    ]
    return [Insert("CDS", [{"CD_ID": columns.id}]), Insert("COLUMNS_V2", rows)]


def delete_columns(columns: Iterable[Columns]) -> list[Change]:
    """Deletes column descriptors that nothing uses any more."""
    keys = [{"CD_ID": each.id} for each in columns]
    return some(Delete("COLUMNS_V2", keys), Delete("CDS", keys))


def insert_storages(storages: Sequence[Storage]) -> list[Change]:
    """Inserts storage descriptors, whose column descriptors exist."""
    return some(
        Insert("SERDES", [_serde_row(storage) for storage in storages]),
        Insert(
            "SERDE_PARAMS",
            [
                row
                for storage in storages
                for row in parameter_rows("SERDE_ID", storage.serde_id, storage.serde_parameters)
            ],
        ),
        Insert("SDS", [_storage_row(storage) for storage in storages]),
        Insert(
            "BUCKETING_COLS",
            [
                {"SD_ID": storage.id, "INTEGER_IDX": place, "BUCKET_COL_NAME": name}
                for storage in storages
                for place, name in enumerate(storage.bucket_columns)
            ],
        ),
    )


def _serde_row(storage: Storage) -> Row:
    return {
        "SERDE_ID": storage.serde_id,
        "NAME": "",
        "SLIB": storage.format.serde,
        "SERDE_TYPE": 0,
    }


def _storage_row(storage: Storage) -> Row:
    return {
        "SD_ID": storage.id,
        "CD_ID": storage.columns.id,
        "INPUT_FORMAT": storage.format.input,
        "IS_COMPRESSED": False,
        "IS_STOREDASSUBDIRECTORIES": False,
        "LOCATION": storage.location,
        "NUM_BUCKETS": storage.buckets,
        "OUTPUT_FORMAT": storage.format.output,
        "SERDE_ID": storage.serde_id,
    }


def delete_storages(storages: Sequence[Storage]) -> list[Change]:
    """Deletes storage descriptors that nothing uses any more; their column descriptors stay."""
    keys = [{"SD_ID": storage.id} for storage in storages]
    serdes = [{"SERDE_ID": storage.serde_id} for storage in storages]
    bucketed = [{"SD_ID": storage.id} for storage in storages if storage.bucket_columns]
    return some(
        Delete("BUCKETING_COLS", bucketed),
        Delete("SDS", keys),
        Delete("SERDE_PARAMS", serdes),
        Delete("SERDES", serdes),
    )


def insert_table(table: Table, *, with_columns: bool = True) -> list[Change]:
    """Inserts a table without partitions."""
    row = {
        "TBL_ID": table.id,
        "CREATE_TIME": table.create_time,
        "DB_ID": table.database.id,
        "LAST_ACCESS_TIME": 0,
        "OWNER": OWNER,
        "OWNER_TYPE": OWNER_TYPE,
        "RETENTION": 0,
        "SD_ID": table.storage.id,
        "TBL_NAME": table.name,
        "TBL_TYPE": table.kind.table_type,
        "VIEW_EXPANDED_TEXT": table.view_text,
        "VIEW_ORIGINAL_TEXT": table.view_text,
        "IS_REWRITE_ENABLED": False,
        "WRITE_ID": table.write_id,
    }
    keys = [
        {
            "TBL_ID": table.id,
            "PKEY_NAME": key.name,
            "PKEY_COMMENT": key.comment,
            "PKEY_TYPE": key.type,
            "INTEGER_IDX": place,
        }
        for place, key in enumerate(table.keys)
    ]
    return [
        *(insert_columns(table.storage.columns) if with_columns else ()),
        *insert_storages([table.storage]),
        Insert("TBLS", [row]),
        *some(
            Insert("TABLE_PARAMS", parameter_rows("TBL_ID", table.id, table.parameters)),
            Insert("PARTITION_KEYS", keys),
        ),
    ]


def insert_partitions(table: Table, partitions: Sequence[Partition]) -> list[Change]:
    """Inserts partitions of a table, which share its column descriptor."""
    rows = [
        {
            "PART_ID": partition.id,
            "CREATE_TIME": partition.create_time,
            "LAST_ACCESS_TIME": 0,
            "PART_NAME": partition.name,
            "SD_ID": partition.storage.id,
            "TBL_ID": table.id,
            "WRITE_ID": partition.write_id,
        }
        for partition in partitions
    ]
    values = [
        {"PART_ID": partition.id, "INTEGER_IDX": place, "PART_KEY_VAL": value}
        for partition in partitions
        for place, value in enumerate(partition.values)
    ]
    parameters = [
        row
        for partition in partitions
        for row in parameter_rows("PART_ID", partition.id, partition.parameters)
    ]
    return [
        *insert_storages([partition.storage for partition in partitions]),
        Insert("PARTITIONS", rows),
        Insert("PARTITION_KEY_VALS", values),
        *some(Insert("PARTITION_PARAMS", parameters)),
    ]


def delete_partitions(table: Table, partitions: Sequence[Partition]) -> list[Change]:
    """Deletes partitions of a table, and column descriptors that only they used."""
    keys = [{"PART_ID": partition.id} for partition in partitions]
    described = [{"PART_ID": partition.id} for partition in partitions if partition.statistics]
    return some(
        Delete("PART_COL_STATS", described),
        Delete("PARTITION_PARAMS", keys),
        Delete("PARTITION_KEY_VALS", keys),
        Delete("PARTITIONS", keys),
        *delete_storages([partition.storage for partition in partitions]),
        *delete_columns(_used_only_by(table, partitions)),
    )


def _used_only_by(table: Table, partitions: Sequence[Partition]) -> list[Columns]:
    candidates = {partition.storage.columns for partition in partitions}
    candidates.discard(table.storage.columns)
    if candidates:
        going = {partition.name for partition in partitions}
        for name, partition in table.partitions.items():
            if name not in going:
                candidates.discard(partition.storage.columns)
    return sorted(candidates, key=lambda columns: columns.id)


def delete_table(table: Table) -> list[Change]:
    """Deletes a table with all its partitions, but not its constraints."""
    keys: list[Mapping[str, Any]] = [{"TBL_ID": table.id}]
    return [
        *delete_partitions(table, list(table.partitions.values())),
        *some(Delete("TAB_COL_STATS", keys if table.statistics else [])),
        Delete("TABLE_PARAMS", keys),
        *some(Delete("PARTITION_KEYS", keys if table.keys else [])),
        Delete("TBLS", keys),
        *delete_storages([table.storage]),
        *delete_columns([table.storage.columns]),
    ]


def set_write_id(table: Table) -> list[Change]:
    """Stores the table's current write id; only managed tables have one."""
    assert table.kind.managed
    return [Update("TBLS", ("TBL_ID",), [{"TBL_ID": table.id, "WRITE_ID": table.write_id}])]
