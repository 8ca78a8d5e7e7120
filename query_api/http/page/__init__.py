"""The page at `/`: its files, and the routes that tell it what no other route does."""

from query_api.http.page.process_info import ProcessInfo, answered_by

__all__ = ["ProcessInfo", "answered_by"]
