"""The HTTP server: health now, and the answers of the cache."""

from query_api.http.app import create_app
from query_api.http.health import Check

__all__ = ["Check", "create_app"]
