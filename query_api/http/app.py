"""The application that an ASGI server runs."""

from collections.abc import Sequence
from html import escape

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from query_api.http.health import Check, Health, Report

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="2">
<title>Metatide: {title}</title>
<style>
  :root {{ color-scheme: light dark }}
  body {{ font: 16px/1.5 system-ui, sans-serif }}
  body {{ max-width: 44rem; margin: 3rem auto; padding: 0 1rem }}
  table {{ border-collapse: collapse; width: 100% }}
  th, td {{ text-align: left; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid #8884 }}
</style>
<h1>Metatide is {title}</h1>
<table>
<thead><tr><th scope="col">Check<th scope="col">State<th scope="col">Detail</thead>
<tbody>
{rows}
</tbody>
</table>
</html>
"""


def create_app(checks: Sequence[Check]) -> Starlette:
    """The application; `checks` decide whether it is ready."""
    health = Health(checks)

    async def alive(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(_: Request) -> Response:
        report = await health.report()
        body = msgspec.json.encode(report)
        return Response(body, 200 if report.ready else 503, media_type="application/json")

    async def page(_: Request) -> Response:
        return HTMLResponse(_render(await health.report()))

    return Starlette(routes=[Route("/healthz", alive), Route("/readyz", ready), Route("/", page)])


def _render(report: Report) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{escape(one.name)}<td>{"✓ good" if one.ok else "✗ bad"}'
        f"<td>{escape(one.detail)}</tr>"
        for one in report.checks
    )
    return _PAGE.format(title="ready" if report.ready else "not ready", rows=rows)
