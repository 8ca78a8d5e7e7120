"""The tables of the metastore's database, in one place, for every release that is supported."""

from hive.schema.creation import (
    create,
    detect,
    detect_followed,
    insert_warehouse,
    require_followed,
)
from hive.schema.description import metadata
from hive.schema.version import Version

__all__ = [
    "Version",
    "create",
    "detect",
    "detect_followed",
    "insert_warehouse",
    "metadata",
    "require_followed",
]
