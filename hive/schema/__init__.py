"""The tables of the metastore's database, in one place, for every release that is supported."""

from hive.schema.creation import create, detect, detect_followed, require_followed
from hive.schema.description import metadata
from hive.schema.version import Version

__all__ = ["Version", "create", "detect", "detect_followed", "metadata", "require_followed"]
