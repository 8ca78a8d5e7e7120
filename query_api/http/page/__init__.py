"""The page at `/`: its files, and the routes that tell it what no other route does."""

from query_api.http.page.around import Around, answered_by

__all__ = ["Around", "answered_by"]
