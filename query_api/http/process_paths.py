"""The description of what probes and scrapers, which have no token, ask a process."""

from collections.abc import Mapping
from typing import Any, Final

from query_api.http.access import Access
from query_api.http.operation import SECURITY
from query_api.http.parameter_schemas import TEXT


def _path(id_: str, summary: str, responses: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "get": {
            "operationId": id_,
            "summary": summary,
            "security": SECURITY[Access.EVERYBODY],
            "parameters": [],
            "responses": responses,
        }
    }


def _response(what: str, schema: Mapping[str, Any], *media: str) -> dict[str, Any]:
    return {"description": what, "content": {name: {"schema": schema} for name in media}}


_READINESS: Final = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    # Each role says why in its own terms.
    "additionalProperties": True,
}
_METRICS: Final = ("text/plain", "application/openmetrics-text")

PROCESS_PATHS: Final = {
    "/healthz": _path(
        "getHealth",
        "Whether the process lives",
        {"200": _response("It does", TEXT, "text/plain")},
    ),
    "/readyz": _path(
        "getReadiness",
        "Whether it answers as it should",
        {
            "200": _response("It does", _READINESS, "application/json"),
            "503": _response("It doesn't, or is about to end", _READINESS, "application/json"),
        },
    ),
    "/metrics": _path(
        "getMetrics",
        "The metrics, as Prometheus reads them",
        {"200": _response("All of them", TEXT, *_METRICS)},
    ),
}
