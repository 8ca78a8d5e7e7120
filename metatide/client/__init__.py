"""The Python client; it imports nothing else of this project."""

from metatide.client.asynchronous import AsyncClient
from metatide.client.bound import Settings
from metatide.client.calls import Which
from metatide.client.constraint_objects import SQLAllTableConstraints
from metatide.client.errors import InvalidUrlError, NotFoundError, ServerError, UnavailableError
from metatide.client.need import Answer, Consistency, Need, Position
from metatide.client.objects import Database, Function, Partition, Table, TableMeta, WriteIds
from metatide.client.snapshot import Snapshot
from metatide.client.statistics_objects import ColumnStatisticsObj
from metatide.client.sync import Client

__all__ = [
    "Answer",
    "AsyncClient",
    "Client",
    "ColumnStatisticsObj",
    "Consistency",
    "Database",
    "Function",
    "InvalidUrlError",
    "Need",
    "NotFoundError",
    "Partition",
    "Position",
    "SQLAllTableConstraints",
    "ServerError",
    "Settings",
    "Snapshot",
    "Table",
    "TableMeta",
    "UnavailableError",
    "Which",
    "WriteIds",
]
