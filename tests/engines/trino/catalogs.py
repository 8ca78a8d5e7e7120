"""The catalogs of the Trino under test: each way to the metastore, for each connector."""

from collections.abc import Mapping
from typing import Final

_UNCACHED: Final = {
    "hive.metastore-cache-ttl": "0s",
    # Left out, it is 5 minutes.
    "hive.metastore-stats-cache-ttl": "0s",
}
_HIVE: Final = {"connector.name": "hive", "hive.non-managed-table-writes-enabled": "true"}
_CONNECTORS: Final[Mapping[str, Mapping[str, str]]] = {
    "hive": {**_HIVE, **_UNCACHED, "hive.security": "allow-all"},
    "sql": {**_HIVE, **_UNCACHED, "hive.security": "sql-standard"},
    "iceberg": {
        "connector.name": "iceberg",
        "iceberg.catalog.type": "hive_metastore",
        "iceberg.register-table-procedure.enabled": "true",
    },
}
_CACHED: Final = {"hive.metastore-cache-ttl": "10m", "hive.security": "allow-all"}


CACHED: Final = "hive_cached"
"""The control: a catalog whose answers Trino itself keeps."""


def creation(name: str, addresses: Mapping[str, str]) -> str:
    """The statement that creates a catalog. Its name is of a connector and a way to the metastore,
    whose address it is given.
    """
    connector, way = name.split("_")
    if name == CACHED:
        properties, way = {**_HIVE, **_CACHED}, "through"
    else:
        properties = {**_CONNECTORS[connector]}
    properties |= {"fs.hadoop.enabled": "true", "hive.metastore.uri": addresses[way]}
    using = properties.pop("connector.name")
    pairs = ", ".join(f"\"{key}\" = '{value}'" for key, value in properties.items())
    return f"CREATE CATALOG {name} USING {using} WITH ({pairs})"
