"""The page at `/`: its files, and the routes that only it needs."""

from query_api.http.page.around import Around, answered_by

__all__ = ["Around", "answered_by"]
