"""The HTTP server for reads and health."""

from query_api.http.app import create_app, create_status_app
from query_api.http.health import Check
from query_api.http.server import ReadServer, Tls
from query_api.http.service import Settings

__all__ = ["Check", "ReadServer", "Settings", "Tls", "create_app", "create_status_app"]
