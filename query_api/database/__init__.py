"""The metastore's own database, which answers what the cache doesn't."""

from query_api.database.engine import bounded_engine
from query_api.database.fallback import Fallback, FromDatabase
from query_api.database.objects import DatabaseObjects

__all__ = ["DatabaseObjects", "Fallback", "FromDatabase", "bounded_engine"]
