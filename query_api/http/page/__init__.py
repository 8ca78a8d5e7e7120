"""The page at `/`: its files, and the operations that supply its data."""

from query_api.http.page.process_info import ProcessInfo, answered_by

__all__ = ["ProcessInfo", "answered_by"]
