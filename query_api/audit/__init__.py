"""Compares the cache with the database as of the same event."""

from query_api.audit.auditor import Auditor
from query_api.audit.findings import AuditResult, Field, ObjectDifference, Totals, totals
from query_api.audit.operations import AUDITS
from query_api.audit.rounds import Rounds

__all__ = [
    "AUDITS",
    "AuditResult",
    "Auditor",
    "Field",
    "ObjectDifference",
    "Rounds",
    "Totals",
    "totals",
]
