"""A catalog of any size, whose rows the database itself generates, a stretch of ids at a time.

One table has a tenth of all partitions, each other one 450: of ten million, 20,000 tables and one
of a million. Nothing but the database remembers how far it is, so filling may be interrupted.
"""

import threading
import time
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from hive.reader.engines import unpooled_engine
from metatide.demo.ids import SEQUENCES, sequence_name

DATABASES: Final = 100
PARTITIONS_A_TABLE: Final = 450
COLUMNS: Final = 8
STRETCH: Final = 100_000
_LARGE_SHARE: Final = 10


@dataclass(frozen=True)
class Catalog:
    """What a catalog with so many partitions contains."""

    partitions: int

    @property
    def large(self) -> int:
        """The number of partitions of the largest table."""
        return self.partitions // _LARGE_SHARE

    @property
    def tables(self) -> int:
        return 1 + (self.partitions - self.large) // PARTITIONS_A_TABLE

    def table(self, number: int) -> tuple[str, str]:
        """The database and name of a table; number 0 is the largest one."""
        return f"lake{number % DATABASES}", f"t{number}"

    def partition(self, number: int) -> tuple[int, int]:
        """The table of a partition, which is counted from 0, and its place in there."""
        if number < self.large:
            return 0, number
        table, place = divmod(number - self.large, PARTITIONS_A_TABLE)
        return 1 + table, place


_TABLES: Final = {
    "DBS": ("SELECT n + 2, NULL, '/lake/' || n, 'lake' || n, 'hive', 'USER', 'hive', 1700000000,"
            " NULL, 'NATIVE', NULL, NULL FROM generate_series(0, :databases - 1) AS n"),
    "CDS": "SELECT n + 1 FROM generate_series(0, :tables - 1) AS n",
    "COLUMNS_V2": ("SELECT n + 1, 'c' || c, NULL, (ARRAY['bigint', 'string', 'double',"
                   " 'timestamp', 'decimal(18,2)'])[1 + (n + c) % 5], c"
                   " FROM generate_series(0, :tables - 1) AS n, generate_series(1, :columns) c"),
    "SERDES": ("SELECT n + 1, '', :serde, NULL, NULL, NULL, 0"
               " FROM generate_series(0, :tables - 1) AS n"),
    "SDS": ("SELECT n + 1, n + 1, :input, false, false, '/lake/' || n % :databases || '/t' || n,"
            " -1, :output, n + 1 FROM generate_series(0, :tables - 1) AS n"),
    "TBLS": ("SELECT n + 1, 1700000000, n % :databases + 2, 0, 'hive', 'USER', 0, n + 1, 't' || n,"
             " 'EXTERNAL_TABLE', NULL, NULL, false, 0"
             " FROM generate_series(0, :tables - 1) AS n"),
    "TABLE_PARAMS": ("SELECT n + 1, 'EXTERNAL', 'TRUE'"
                     " FROM generate_series(0, :tables - 1) AS n"),
    "PARTITION_KEYS": ("SELECT n + 1, (ARRAY['ds', 'hr'])[k + 1], NULL, 'string', k"
                       " FROM generate_series(0, :tables - 1) AS n, generate_series(0, 1) AS k"),
}  # fmt: skip
_NUMBERED: Final = """
    (SELECT n, t, (date '2020-01-01' + place / 24)::text AS ds,
            lpad((place % 24)::text, 2, '0') AS hr
     FROM (SELECT n, CASE WHEN n <= :large THEN 0 ELSE 1 + (n - :large - 1) / :each END AS t,
                  CASE WHEN n <= :large THEN n - 1 ELSE (n - :large - 1) % :each END AS place
           FROM generate_series(CAST(:first AS integer), CAST(:last AS integer)) AS n) AS placed
    ) AS numbered"""
_PARTITIONS: Final = {
    "SERDES": "SELECT :tables + n, '', :serde, NULL, NULL, NULL, 0 FROM {}",
    "SERDE_PARAMS": "SELECT :tables + n, 'serialization.format', '1' FROM {}",
    "SDS": ("SELECT :tables + n, t + 1, :input, false, false, '/lake/' || t % :databases || '/t' "
            "|| t || '/ds=' || ds || '/hr=' || hr, -1, :output, :tables + n FROM {}"),
    "PARTITION_KEY_VALS": ("SELECT n, k, (ARRAY[ds, hr])[k + 1]"
                           " FROM {}, generate_series(0, 1) AS k"),
    "PARTITIONS": ("SELECT n, 1700000000 + n % 30000000, 0, 'ds=' || ds || '/hr=' || hr,"
                   " :tables + n, t + 1, 0 FROM {}"),
}  # fmt: skip
_PARAMETERS: Final = {
    "PARTITION_PARAMS": (
        "SELECT n, names[k], texts[k] FROM (SELECT n, ARRAY['COLUMN_STATS_ACCURATE', 'numFiles',"
        " 'numRows', 'totalSize', 'transient_lastDdlTime'] AS names,"
        """ ARRAY['{{"BASIC_STATS":"true"}}', (1 + n % 199)::text,"""
        " (n::bigint * 2654435761 % 100000000)::text,"
        " (n::bigint * 40503 * 65537 % 10000000000)::text, (1700000000 + n % 30000000)::text]"
        " AS texts FROM {}) AS parameters, generate_series(1, 5) AS k"
    )
}
_WRITERS: Final = (("PARTITIONS", _PARTITIONS), ("PARTITION_PARAMS", _PARAMETERS))
"""Half of the rows are parameters; each writer has a table that says how far it is."""
_ORC: Final = "org.apache.hadoop.hive.ql.io.orc."
_TEXTS: Final = {
    "serde": f"{_ORC}OrcSerde",
    "input": f"{_ORC}OrcInputFormat",
    "output": f"{_ORC}OrcOutputFormat",
}


def fill(url: str, catalog: Catalog, until: float) -> int:
    """Writes what is missing, until it is all there or the clock of `time.monotonic` says `until`;
    returns the number of complete partitions.
    """
    engine = unpooled_engine(url)
    with engine.begin() as connection:
        if not connection.scalar(sa.text('SELECT count(*) FROM "TBLS"')):
            _run(connection, _TABLES, catalog)
            ids = [
                {"name": sequence_name(table), "next": catalog.tables + catalog.partitions + 1_000}
                for table in SEQUENCES
            ]
            connection.execute(sa.text('DELETE FROM "SEQUENCE_TABLE"'))
            connection.execute(sa.text('INSERT INTO "SEQUENCE_TABLE" VALUES (:name, :next)'), ids)
    reached: dict[str, int] = {}

    def write(table: str, rows: dict[str, str]) -> None:
        with engine.connect() as connection:
            last = connection.scalar(sa.text(f'SELECT max("PART_ID") FROM "{table}"')) or 0
            connection.commit()
            while last < catalog.partitions and time.monotonic() < until:
                first, last = last + 1, min(last + STRETCH, catalog.partitions)
                with connection.begin():
                    _run(connection, rows, catalog, first=first, last=last)
                reached[table] = last
            reached[table] = last

    writers = [threading.Thread(target=write, args=of) for of in _WRITERS]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    complete = min(reached.get(table, 0) for table, _ in _WRITERS)
    if complete == catalog.partitions:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(sa.text("VACUUM ANALYZE"))
    engine.dispose()
    return complete


def _run(connection: sa.Connection, rows: dict[str, str], catalog: Catalog, **stretch: int) -> None:
    """Inserts the rows without checks of foreign keys, which hold by construction."""
    connection.execute(sa.text("SET LOCAL session_replication_role = replica"))
    numbers = {
        "databases": DATABASES,
        "tables": catalog.tables,
        "columns": COLUMNS,
        "large": catalog.large,
        "each": PARTITIONS_A_TABLE,
        **stretch,
    }
    for table, query in rows.items():
        statement = f'INSERT INTO "{table}" {query.format(_NUMBERED)}'
        for name, number in numbers.items():
            # Values in the text: the server would plan for unknown ones.
            statement = statement.replace(f":{name}", str(number))
        for name, text in _TEXTS.items():
            statement = statement.replace(f":{name}", f"'{text}'")
        connection.exec_driver_sql(statement.replace("%", "%%"))
