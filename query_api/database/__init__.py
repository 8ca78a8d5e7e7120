"""Reads from the metastore's own database, for what the cache doesn't answer."""

from query_api.database.engine import bounded_engine
from query_api.database.fallback import Fallback
from query_api.database.objects import DatabaseObjects
from query_api.database.primary import Primary

__all__ = ["DatabaseObjects", "Fallback", "Primary", "bounded_engine"]
