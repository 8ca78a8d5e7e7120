"""Middleware that keeps the parts of a path apart, so that names may have slashes."""

from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send


class PathMiddleware:
    """Splits paths before they are unquoted: `/tables/a%2Fb` is a table `a/b`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and b"%" in scope["raw_path"]:
            scope["path"] = distinct(scope["raw_path"].decode("ascii"))
        await self._app(scope, receive, send)


def distinct(raw_path: str) -> str:
    """A path with its parts unquoted, but for slashes and percent signs: answers are cached by
    paths, so no two that mean different names may become equal. Whoever reads a name from it
    unquotes the rest.
    """
    parts = (unquote(part) for part in raw_path.split("/"))
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)
