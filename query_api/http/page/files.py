"""The files of the page: read or made once, and cached by browsers."""

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from query_api.http.messages import etag_of, is_etag_in
from query_api.reason_texts import COLD, REASONS

FOLDER: Final = Path(__file__).with_name("static")
INDEX: Final = "index.html"
REASON_TEXTS: Final = "reason_texts.js"
PREFIX: Final = "/page/"
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    # Browsers ask each time, so they see a new release at once; the ETag saves the transfer.
    "cache-control": "no-cache",
}


class File(NamedTuple):
    """A file with its headers."""

    body: bytes
    media_type: str
    etag: bytes


def file_routes() -> list[BaseRoute]:
    """The routes of the page's files."""
    return [_route(name) for name in sorted(files()) if name != INDEX]


def send_file(request: Request, name: str = INDEX) -> Response:
    """Sends a file, or 304 to a browser that has it."""
    file = files()[name]
    headers = HEADERS | {"etag": file.etag.decode()}
    if_none_match = request.headers.get("if-none-match")
    if if_none_match is not None and is_etag_in(if_none_match.encode("latin-1"), file.etag):
        return Response(status_code=304, headers=headers)
    return Response(file.body, headers=headers, media_type=file.media_type)


@cache
def files() -> dict[str, File]:
    """All files by name."""
    bodies = {path.name: path.read_bytes() for path in FOLDER.iterdir() if path.suffix in _TYPES}
    bodies[REASON_TEXTS] = _reason_texts()
    return {
        name: File(body, _TYPES[Path(name).suffix], etag_of(body)) for name, body in bodies.items()
    }


def _reason_texts() -> bytes:
    """A script with the texts of reasons, which are also those of the command line."""
    texts = {"REASONS": REASONS, "COLD": COLD}
    return b"".join(
        b"export const %s = %s;\n" % (name.encode(), msgspec.json.encode(value))
        for name, value in texts.items()
    )


def _route(name: str) -> Route:
    async def send(request: Request) -> Response:
        return send_file(request, name)

    return Route(PREFIX + name, send)
