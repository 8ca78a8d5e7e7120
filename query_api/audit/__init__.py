"""Compares the cache with the database as of the same event."""

from query_api.audit.auditor import Auditor
from query_api.audit.findings import Audited, Field, ObjectDifference, Totals, totals
from query_api.audit.rounds import Rounds
from query_api.audit.routes import audit_routes

__all__ = [
    "Audited",
    "Auditor",
    "Field",
    "ObjectDifference",
    "Rounds",
    "Totals",
    "audit_routes",
    "totals",
]
