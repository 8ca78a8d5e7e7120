"""What the rows of the metastore's tables hold, in the form in which messages tell it."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from sqlalchemy import Row, select

from metatide.demo.store import Store
from tests.metatide.demo.event_model import Name, Struct, Values

Rows = list[Row[Any]]


class RowModel:
    """All rows that tell of objects."""

    def __init__(self, store: Store) -> None:
        with store.engine.connect() as connection:
            self._rows: Callable[[str], Rows] = lambda table: list(
                connection.execute(select(store.metadata.tables[table]))
            )
            self._read()

    def _read(self) -> None:
        self.databases = {row.NAME: row for row in self._rows("DBS")}
        names = {row.DB_ID: row.NAME for row in self.databases.values()}
        self.database_parameters = self._parameters("DATABASE_PARAMS", "DB_ID")
        self.functions = {(names[r.DB_ID], r.FUNC_NAME): r for r in self._rows("FUNCS")}
        storages = self._storages()
        parameters = self._parameters("TABLE_PARAMS", "TBL_ID")
        keys = self._ordered("PARTITION_KEYS", "TBL_ID", "PKEY_NAME", "PKEY_TYPE", "PKEY_COMMENT")
        self.tables: dict[Name, Struct] = {}
        self.names: dict[int, Name] = {}
        for row in self._rows("TBLS"):
            self.names[row.TBL_ID] = name = (names[row.DB_ID], row.TBL_NAME)
            self.tables[name] = {
                "1": row.TBL_NAME,
                "2": names[row.DB_ID],
                "4": row.CREATE_TIME,
                "7": storages[row.SD_ID],
                "8": [dict(zip("123", key, strict=True)) for key in keys[row.TBL_ID]],
                "9": parameters[row.TBL_ID],
                "12": row.TBL_TYPE,
                "19": row.WRITE_ID,
                "25": row.TBL_ID,
            }
        self._read_partitions(storages)
        self._read_transactions()

    def _read_partitions(self, storages: dict[int, Struct]) -> None:
        parameters = self._parameters("PARTITION_PARAMS", "PART_ID")
        values = self._ordered("PARTITION_KEY_VALS", "PART_ID", "PART_KEY_VAL")
        self.partitions: dict[Name, dict[Values, Struct]] = defaultdict(dict)
        self.partition_names: dict[int, tuple[Name, Values]] = {}
        self.part_name: dict[int, str] = {}
        for row in self._rows("PARTITIONS"):
            table = self.names[row.TBL_ID]
            own = tuple(value for (value,) in values[row.PART_ID])
            self.partition_names[row.PART_ID] = table, own
            self.part_name[row.PART_ID] = row.PART_NAME
            self.partitions[table][own] = {
                "1": list(own),
                "4": row.CREATE_TIME,
                "6": storages[row.SD_ID],
                "7": parameters[row.PART_ID],
                "10": row.WRITE_ID,
                "name": row.PART_NAME,
            }

    def _read_transactions(self) -> None:
        self.transactions = {r.TXN_ID: r.TXN_STATE for r in self._rows("TXNS") if r.TXN_ID}
        self.write_ids: dict[Name, dict[int, int]] = defaultdict(dict)
        for row in self._rows("TXN_TO_WRITE_ID"):
            self.write_ids[row.T2W_DATABASE, row.T2W_TABLE][row.T2W_TXNID] = row.T2W_WRITEID
        self.next_write_ids = {
            (row.NWI_DATABASE, row.NWI_TABLE): row.NWI_NEXT for row in self._rows("NEXT_WRITE_ID")
        }
        self.table_statistics = self._rows("TAB_COL_STATS")
        self.partition_statistics = self._rows("PART_COL_STATS")
        self.constraints = self._rows("KEY_CONSTRAINTS")

    def _storages(self) -> dict[int, Struct]:
        columns = self._ordered("COLUMNS_V2", "CD_ID", "COLUMN_NAME", "TYPE_NAME", "COMMENT")
        parameters = self._parameters("SERDE_PARAMS", "SERDE_ID")
        serdes = {row.SERDE_ID: row for row in self._rows("SERDES")}
        buckets = self._ordered("BUCKETING_COLS", "SD_ID", "BUCKET_COL_NAME")
        storages: dict[int, Struct] = {}
        for row in self._rows("SDS"):
            storages[row.SD_ID] = {
                "1": [dict(zip("123", each, strict=True)) for each in columns[row.CD_ID]],
                "3": row.INPUT_FORMAT,
                "4": row.OUTPUT_FORMAT,
                "5": int(row.IS_COMPRESSED),
                "6": row.NUM_BUCKETS,
                "7": {
                    "1": serdes[row.SERDE_ID].NAME,
                    "2": serdes[row.SERDE_ID].SLIB,
                    "3": parameters[row.SERDE_ID],
                },
                "8": [column for (column,) in buckets[row.SD_ID]],
                "9": [],
                "10": {},
                "11": {"1": [], "2": [], "3": {}},
                "12": int(row.IS_STOREDASSUBDIRECTORIES),
            }
            if row.LOCATION is not None:
                storages[row.SD_ID]["2"] = row.LOCATION
        return storages

    def _parameters(self, table: str, key: str) -> dict[int, dict[str, str]]:
        found: dict[int, dict[str, str]] = defaultdict(dict)
        for row in self._rows(table):
            found[getattr(row, key)][row.PARAM_KEY] = row.PARAM_VALUE
        return found

    def _ordered(self, table: str, key: str, *columns: str) -> dict[int, list[tuple[Any, ...]]]:
        found: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for row in sorted(self._rows(table), key=lambda row: row.INTEGER_IDX):
            found[getattr(row, key)].append(tuple(getattr(row, name) for name in columns))
        return found
