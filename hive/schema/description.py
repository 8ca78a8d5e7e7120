"""All tables of one version as SQLAlchemy metadata."""

from functools import cache
from threading import Lock

from sqlalchemy import MetaData, quoted_name

from hive.schema import (
    bookkeeping,
    catalogs,
    compactions,
    constraints,
    functions,
    locks,
    notifications,
    partitions,
    privileges,
    registry,
    scheduling,
    statistics,
    storage,
    tables,
    transactions,
    workloads,
)
from hive.schema.version import Version

_described_once = Lock()


def metadata(version: Version) -> MetaData:
    """The tables of one version, as `metadata(version).tables["DBS"].c.NAME`.

    All threads get the same: two descriptions of a table would be two tables in a statement, which
    multiplies rows.
    """
    with _described_once:
        return _described(version)


@cache
def _described(version: Version) -> MetaData:
    described = MetaData()
    _describe_transactional(described, version)
    if version < Version.V4_0:
        _leave_unquoted(described)
    bookkeeping.describe(described, version)
    catalogs.describe(described, version)
    storage.describe(described)
    tables.describe(described, version)
    partitions.describe(described, version)
    statistics.describe(described, version)
    constraints.describe(described, version)
    functions.describe(described, version)
    privileges.describe(described, version)
    notifications.describe(described, version)
    registry.describe(described)
    workloads.describe(described, version)
    if version >= Version.V4_0:
        scheduling.describe(described)
    return described


def _describe_transactional(described: MetaData, version: Version) -> None:
    transactions.describe(described, version)
    locks.describe(described)
    compactions.describe(described, version)
    scheduling.describe_runtime_statistics(described)


def _leave_unquoted(described: MetaData) -> None:
    """Unquotes the names of tables that are created without quotes up to 3.1, so that PostgreSQL
    folds them."""
    for table in described.tables.values():
        table.name = quoted_name(table.name, quote=False)
        for column in table.columns:
            column.name = quoted_name(column.name, quote=False)
