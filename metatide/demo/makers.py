"""Random objects: databases, tables and partitions similar to a warehouse's."""

import datetime
from collections.abc import Callable, Sequence
from random import Random

from metatide.demo.ids import Ids
from metatide.demo.objects import (
    Columns,
    Database,
    Field,
    Format,
    Partition,
    Storage,
    Table,
    TableKind,
    Warehouse,
)

TEXT = Format(
    "org.apache.hadoop.mapred.TextInputFormat",
    "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
)
ORC = Format(
    "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
)
PARQUET = Format(
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
)
FORMATS = {
    TableKind.ACID: [ORC],
    TableKind.INSERT_ONLY: [TEXT],
    TableKind.EXTERNAL: [TEXT, PARQUET],
}
SERIALIZATION = {"serialization.format": "1"}
TYPES = (
    *("string", "bigint", "int", "double", "boolean", "date", "timestamp", "decimal(10,2)"),
    *("varchar(64)", "array<string>", "map<string,int>", "struct<lat:double,lon:double>"),
)
WORDS = ("user", "order", "amount", "country", "device", "session", "price", "état", "note", "ref")
REGIONS = (
    "eu-west",
    "us/east",
    "ap south",
    "50%",
    "a=b",
    "größe",
    "x:y",
    "{z}",
    "__HIVE_DEFAULT_PARTITION__",
)
KINDS = {TableKind.ACID: 5, TableKind.INSERT_ONLY: 2, TableKind.EXTERNAL: 5, TableKind.VIEW: 1}
PARTITIONED = 0.75
"""The share of tables that have partitions."""

KEYS = (
    (Field("ds", "date"), Field("hr", "int")),
    (Field("ds", "string"),),
    (Field("ds", "date"), Field("region", "string")),
    (Field("year", "int"), Field("month", "int"), Field("day", "int")),
)
FIRST_DAY = datetime.date(2024, 1, 1)
COLUMNS_MAX = 1000
"""A table that has this many columns gets no more."""


def column_layouts(rng: Random, count: int) -> list[tuple[Field, ...]]:
    """So many different lists of columns."""
    return [_layout(rng, number) for number in range(count)]


def _layout(rng: Random, number: int) -> tuple[Field, ...]:
    fields = [Field("id", "bigint"), Field("v", "string")]
    for place in range(rng.randint(2, 10)):
        name = f"{rng.choice(WORDS)}_{number}_{place}"
        fields.append(Field(name, rng.choice(TYPES), "" if place % 3 else "from source"))
    return tuple(fields)


class Maker:
    """Makes objects; tables share lists of columns."""

    def __init__(
        self,
        rng: Random,
        ids: Ids,
        clock: Callable[[], float],
        layouts: Sequence[tuple[Field, ...]],
        warehouse: Warehouse,
    ) -> None:
        self._rng = rng
        self._ids = ids
        self._time = clock
        self._layouts = layouts
        self._warehouse = warehouse

    def _now(self) -> int:
        return int(self._time())

    def database(self, name: str) -> Database:
        """A database without tables."""
        return Database(
            id=self._ids.take("DBS"),
            name=name,
            location=f"{self._warehouse.external}/{name}.db",
            managed_location=f"{self._warehouse.managed}/{name}.db",
            description=self._rng.choice(["", "demo"]),
            parameters={},
            create_time=self._now(),
        )

    def kind(self) -> TableKind:
        """The kind of a new table."""
        return self._rng.choices(list(KINDS), list(KINDS.values()))[0]

    def table(self, database: Database, name: str, kind: TableKind) -> Table:
        """A table of this kind, without partitions."""
        now = self._now()
        columns = Columns(self._ids.take("CDS"), self._rng.choice(self._layouts))
        partitioned = kind is not TableKind.VIEW and self._rng.random() < PARTITIONED
        return Table(
            id=self._ids.take("TBLS"),
            database=database,
            name=name,
            kind=kind,
            storage=self._table_storage(database, name, kind, columns),
            keys=self._rng.choice(KEYS) if partitioned else (),
            parameters=_table_parameters(kind, now),
            create_time=now,
            view_text="select 1" if kind is TableKind.VIEW else None,
        )

    def like(self, table: Table, name: str) -> Table:
        """An empty table with the columns and keys of another external table, in the same
        database.
        """
        columns = Columns(self._ids.take("CDS"), table.storage.columns.fields)
        made = self.table(table.database, name, TableKind.EXTERNAL)
        made.storage.columns, made.keys = columns, table.keys
        made.steps = table.steps
        return made

    def _table_storage(
        self, database: Database, name: str, kind: TableKind, columns: Columns
    ) -> Storage:
        format_ = self._rng.choice(FORMATS.get(kind, [TEXT]))
        bucketed = kind is TableKind.ACID and self._rng.random() < 0.2
        return Storage(
            id=self._ids.take("SDS"),
            serde_id=self._ids.take("SERDES"),
            columns=columns,
            format=format_,
            location=None if kind is TableKind.VIEW else table_location(database, name, kind),
            serde_parameters={} if format_ is ORC else dict(SERIALIZATION),
            buckets=8 if bucketed else -1,
            bucket_columns=("id",) if bucketed else (),
        )

    def columns(self, table: Table) -> Columns:
        """The table's columns with one added, or with the comment or type of one changed."""
        fields = list(table.storage.columns.fields)
        table.columns_made += 1
        place = self._rng.randrange(len(fields))
        chance = self._rng.random()
        if len(fields) < COLUMNS_MAX and chance < 0.5:
            name = f"added_{table.columns_made}"
            fields.append(Field(name, self._rng.choice(TYPES), "added"))
        elif chance < 0.8:
            fields[place] = fields[place]._replace(comment=f"changed {table.columns_made}")
        else:
            fields[place] = fields[place]._replace(type="string")
        return Columns(self._ids.take("CDS"), tuple(fields))

    def partitions(self, table: Table, count: int) -> list[Partition]:
        """New partitions of a table, with values that are not in use."""
        names: dict[str, tuple[str, ...]] = {}
        while len(names) < count:
            values = self._values(table)
            name = table.partition_name(values)
            if name not in table.partitions:
                names[name] = values
        return self.partitions_at(table, list(names.values()))

    def partitions_at(self, table: Table, values: Sequence[tuple[str, ...]]) -> list[Partition]:
        """New partitions of a table, with these values."""
        ids = self._ids.take_many("PARTITIONS", len(values))
        storages = self._ids.take_many("SDS", len(values))
        serdes = self._ids.take_many("SERDES", len(values))
        now = self._now()
        return [
            Partition(
                id=id_,
                values=each,
                name=(name := table.partition_name(each)),
                storage=_partition_storage(table, name, storage_id, serde_id),
                parameters=self._partition_parameters(now),
                create_time=now,
            )
            for id_, storage_id, serde_id, each in zip(ids, storages, serdes, values, strict=True)
        ]

    def _values(self, table: Table) -> tuple[str, ...]:
        """The values of a new partition, one step of time after the previous one."""
        step = table.steps
        table.steps += 1
        match [key.name for key in table.keys]:
            case ["ds", "hr"]:
                return _day(step // 24).isoformat(), str(step % 24)
            case ["ds", "region"]:
                return _day(step // len(REGIONS)).isoformat(), REGIONS[step % len(REGIONS)]
            case ["year", "month", "day"]:
                day = _day(step)
                return str(day.year), str(day.month), str(day.day)
            case _:
                return (_day(step).isoformat(),)

    def _partition_parameters(self, now: int) -> dict[str, str]:
        rows = self._rng.randrange(1, 10_000_000)
        return {
            "COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}',
            "numFiles": str(1 + rows // 1_000_000),
            "numFilesErasureCoded": "0",
            "numRows": str(rows),
            "rawDataSize": str(rows * 97),
            "totalSize": str(rows * 31),
            "transient_lastDdlTime": str(now),
        }


def table_location(database: Database, name: str, kind: TableKind) -> str:
    """The default directory of a table."""
    return f"{database.managed_location if kind.managed else database.location}/{name}"


def _table_parameters(kind: TableKind, now: int) -> dict[str, str]:
    parameters = {"transient_lastDdlTime": str(now)}
    if kind.managed:
        properties = "default" if kind is TableKind.ACID else "insert_only"
        parameters |= {"transactional": "true", "transactional_properties": properties}
    elif kind is TableKind.EXTERNAL:
        parameters["EXTERNAL"] = "TRUE"
    return parameters


def _partition_storage(table: Table, name: str, id_: int, serde_id: int) -> Storage:
    return Storage(
        id=id_,
        serde_id=serde_id,
        columns=table.storage.columns,
        format=table.storage.format,
        location=f"{table.location}/{name}",
        serde_parameters=dict(SERIALIZATION),
        buckets=table.storage.buckets,
        bucket_columns=table.storage.bucket_columns,
    )


def _day(step: int) -> datetime.date:
    # Dates end at 9999-12-31; no table ever has so many partitions.
    return FIRST_DAY + datetime.timedelta(days=step % 2_000_000)
