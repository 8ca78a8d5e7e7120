"""Audits over HTTP: draws a sample of the scopes held here, and compares scopes on request."""

import asyncio
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.routing import BaseRoute

from hive.errors import InputError
from query_api.audit.auditor import Auditor
from query_api.audit.findings import Audited
from query_api.audit.scopes import draw, known_scopes
from query_api.http.access import Tokens
from query_api.http.authorization import Holder
from query_api.http.routes import admin_route, body_of
from query_api.shards import Views
from state.records import Scope

PATH: Final = "/v1/admin/audit"
SCOPES_MAX: Final = 100
"""The scopes compared as of one moment of the database."""
DRAWN_MAX: Final = 1_000_000


class Drawn(msgspec.Struct, frozen=True):
    """A sample of the scopes held here."""

    of: int
    scopes: list[Scope]


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The scopes to compare."""

    scopes: list[Scope]


def audit_routes(auditor: Auditor, tokens: Tokens) -> list[BaseRoute]:
    """GET draws scopes, POST compares them."""

    async def drawn(request: Request, _: Holder) -> Drawn:
        count = _number(request, "sample", DRAWN_MAX, DRAWN_MAX)
        seed = _number(request, "seed", 0, (1 << 63) - 1)
        return await asyncio.to_thread(_draw, auditor.views, count, seed)

    async def compared(request: Request, _: Holder) -> list[Audited]:
        wanted = await body_of(request, Wanted)
        if len(wanted.scopes) > SCOPES_MAX:
            raise InputError(f"give at most {SCOPES_MAX} scopes, not {len(wanted.scopes)}")
        return await auditor.audit(list(dict.fromkeys(wanted.scopes)))

    return [
        admin_route(PATH, "GET", tokens, drawn),
        admin_route(PATH, "POST", tokens, compared),
    ]


def _draw(views: Views, count: int, seed: int) -> Drawn:
    scopes = list(known_scopes(views))
    return Drawn(len(scopes), draw(scopes, count, seed))


def _number(request: Request, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= most):
        raise InputError(f"bad {name} {text[:20]!r}: write a number up to {most}")
    return int(text)
