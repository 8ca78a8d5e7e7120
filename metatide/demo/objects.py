"""The workload's model of each object: enough for its rows and its Thrift struct."""

from dataclasses import dataclass, field
from enum import Enum
from threading import Lock
from typing import NamedTuple

from hive.names import partition_name
from metatide.demo.bag import Bag


class Field(NamedTuple):
    """A column or a partition key."""

    name: str
    type: str
    comment: str = ""


class Format(NamedTuple):
    """The input and output format of files."""

    input: str
    output: str
    serde: str


class TableKind(Enum):
    """The kind of a table."""

    ACID = "acid"
    INSERT_ONLY = "insert_only"
    EXTERNAL = "external"
    VIEW = "view"

    @property
    def managed(self) -> bool:
        """Whether writes to it take write ids."""
        return self in (TableKind.ACID, TableKind.INSERT_ONLY)

    @property
    def table_type(self) -> str:
        """The value of TBL_TYPE."""
        if self is TableKind.VIEW:
            return "VIRTUAL_VIEW"
        return "MANAGED_TABLE" if self.managed else "EXTERNAL_TABLE"


@dataclass(eq=False, slots=True)
class Columns:
    """A column descriptor; a table and its partitions share it until the columns change."""

    id: int
    fields: tuple[Field, ...]


@dataclass(eq=False, slots=True)
class Storage:
    """A storage descriptor with its serde."""

    id: int
    serde_id: int
    columns: Columns
    format: Format
    location: str | None
    serde_parameters: dict[str, str]
    buckets: int = -1
    bucket_columns: tuple[str, ...] = ()


@dataclass(eq=False, slots=True)
class Partition:
    """A partition; the metastore stores a write id when it alters one, but not when it adds it."""

    id: int
    values: tuple[str, ...]
    name: str
    storage: Storage
    parameters: dict[str, str]
    create_time: int
    write_id: int = 0
    statistics: dict[str, int] = field(default_factory=dict)
    """CS_ID of each column that has statistics."""


@dataclass(eq=False, slots=True)
class Constraint:
    """A constraint of one column; a foreign key is dropped along with its parent."""

    name: str
    parent: "Table | None" = None


@dataclass(frozen=True)
class Warehouse:
    """The folders in which databases have theirs."""

    managed: str
    external: str


USUAL_WAREHOUSE = Warehouse("file:/warehouse/managed", "file:/warehouse/external")
"""For a database that no metastore has been started on."""


@dataclass(eq=False)
class Database:
    """A database; names of dropped tables may be reused."""

    id: int
    name: str
    location: str
    managed_location: str
    description: str
    parameters: dict[str, str]
    create_time: int
    functions: dict[str, int] = field(default_factory=dict)
    """FUNC_ID of each function."""
    free_names: list[str] = field(default_factory=list)
    names_made: int = 0
    lock: Lock = field(default_factory=Lock)


@dataclass(eq=False)
class Table:
    """A table with everything that belongs to it. To read or change it, hold its lock."""

    id: int
    database: Database
    name: str
    kind: TableKind
    storage: Storage
    keys: tuple[Field, ...]
    parameters: dict[str, str]
    create_time: int
    write_id: int = 0
    view_text: str | None = None
    partitions: dict[str, Partition] = field(default_factory=dict)
    partition_names: Bag[str] = field(default_factory=Bag)
    statistics: dict[str, int] = field(default_factory=dict)
    constraints: dict[str, Constraint] = field(default_factory=dict)
    next_write_id: int = 1
    write_ids: dict[int, int] = field(default_factory=dict)
    """The table's rows of TXN_TO_WRITE_ID: the write id of each transaction."""
    steps: int = 0
    """The number of partitions ever made; it determines the time of the next one."""

    columns_made: int = 0
    dropped: bool = False
    lock: Lock = field(default_factory=Lock)

    @property
    def location(self) -> str:
        """The directory of a table; views have none."""
        assert self.storage.location is not None
        return self.storage.location

    def partition_name(self, values: tuple[str, ...]) -> str:
        """The name of a partition with these values."""
        return partition_name([key.name for key in self.keys], values)

    def add_partition(self, partition: Partition) -> None:
        """Adds a partition to the table."""
        self.partitions[partition.name] = partition
        self.partition_names.add(partition.name)

    def remove_partition(self, partition: Partition) -> None:
        """Removes a partition from the table."""
        del self.partitions[partition.name]
        self.partition_names.remove(partition.name)
