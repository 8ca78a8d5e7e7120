"""Audits over HTTP: draws a sample of the scopes held here, and compares scopes on request."""

import asyncio
from typing import Any, Final

import msgspec
from starlette.requests import Request

from hive.errors import InputError
from hive.names import parse_table_name, storable
from query_api.audit.auditor import Auditor
from query_api.audit.findings import AuditResult, Field, ObjectDifference
from query_api.audit.scopes import TARGETS, draw, known_scopes
from query_api.http.access import Access
from query_api.http.operation import Operation, OperationRequest
from query_api.positions import Position
from query_api.shards import Views
from state.records import Scope, ScopeKind

PATH: Final = "/v1/admin/audit"
SCOPES_MAX: Final = 100
"""The scopes compared as of one moment of the database."""
SAMPLE_MAX: Final = 1_000_000


class AuditSample(msgspec.Struct, frozen=True):
    """A sample of the scopes that this worker can compare; `of` is the number of all."""

    of: int
    scopes: list[Scope]


class AuditScopes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The scopes to compare."""

    scopes: list[Scope]


async def _draw_sample(auditor: Auditor, request: OperationRequest[None]) -> AuditSample:
    count = _number(request.http, "sample", SAMPLE_MAX, SAMPLE_MAX)
    seed = _number(request.http, "seed", 0, (1 << 63) - 1)
    return await asyncio.to_thread(_sample, auditor.views, count, seed)


async def _audit(auditor: Auditor, request: OperationRequest[AuditScopes]) -> list[AuditResult]:
    scopes = request.body.scopes
    if len(scopes) > SCOPES_MAX:
        raise InputError(f"give at most {SCOPES_MAX} scopes, not {len(scopes)}")
    for scope in scopes:
        storable(scope.name)
        if scope.kind not in TARGETS:
            raise InputError(f"{scope.kind} of {scope.name} are compared along with their table")
    return await auditor.audit(list(dict.fromkeys(scopes)))


def _sample(views: Views, count: int, seed: int) -> AuditSample:
    scopes = list(known_scopes(views))
    return AuditSample(len(scopes), draw(scopes, count, seed))


def _number(request: Request, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= most):
        raise InputError(f"bad {name} {text[:20]!r}: write a number up to {most}")
    return int(text)


_SCOPE: Final = Scope(ScopeKind.TABLE, parse_table_name("sales.orders"))

AUDITS: Final[tuple[Operation[Auditor, Any, Any], ...]] = (
    Operation(
        "drawAuditSample",
        "get",
        PATH,
        "Draw a sample of what this worker can compare with the database",
        _draw_sample,
        AuditSample,
        AuditSample(250, [_SCOPE]),
        Access.ADMINISTRATORS,
        query=(
            ("sample", "How many scopes at most.", 100),
            ("seed", "The same seed gives the same sample.", 0),
        ),
    ),
    Operation(
        "auditScopes",
        "post",
        PATH,
        "Compare the cache with the database, field by field",
        _audit,
        list[AuditResult],
        [
            AuditResult(
                _SCOPE,
                Position(0, 1234),
                31,
                1,
                [ObjectDifference("table", [Field("owner", "ann", "bob")])],
                {"statistics": "cold"},
            )
        ],
        Access.ADMINISTRATORS,
        AuditScopes,
        AuditScopes([_SCOPE]),
        fails=("503",),
    ),
)
