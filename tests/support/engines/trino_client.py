"""A client of Trino, which speaks its REST interface."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support.engines.sql import Answer

_TIMEOUT_S = 600.0
_PAUSE_S = 0.05
_UNAVAILABLE = (502, 503, 504)


@dataclass
class TrinoSession:
    """A session of a user with a catalog and a schema of its own."""

    client: httpx.Client
    catalog: str
    schema: str
    user: str = "hive"
    dialect: str = "Trino"
    """By which names headers begin: `Presto` for its other branch."""
    _roles: dict[str, str] = field(default_factory=dict)

    def ask(self, statement: str) -> Answer:
        """Runs a statement to its end."""
        response = self._sent("POST", "/v1/statement", self._headers(), statement)
        columns: list[Any] = []
        rows: list[Any] = []
        while True:
            self._note(response.headers)
            page = response.json()
            columns = page.get("columns") or columns
            rows += page.get("data") or ()
            if error := page.get("error"):
                return Answer(error=f"{error['errorName']}: {error['message']}")
            if "nextUri" not in page:
                named = tuple((column["name"], column["type"]) for column in columns)
                frozen = tuple(json.dumps(row) for row in rows)
                return Answer(named, frozen, page.get("updateCount"))
            response = self._sent("GET", page["nextUri"], {}, None)

    def rows(self, statement: str) -> list[list[Any]]:
        """The rows of a statement that must succeed."""
        answer = self.ask(statement)
        assert answer.error is None, f"{statement}: {answer.error}"
        return [json.loads(row) for row in answer.rows]

    def _headers(self) -> dict[str, str]:
        fields = {
            "User": self.user,
            "Catalog": self.catalog,
            "Schema": self.schema,
            "Time-Zone": "UTC",
        }
        headers = {f"X-{self.dialect}-{name}": value for name, value in fields.items()}
        if self._roles:
            headers["X-Trino-Role"] = ",".join(f"{of}={role}" for of, role in self._roles.items())
        return headers

    def _note(self, headers: httpx.Headers) -> None:
        """Remembers the role that a statement has set, encoded as it is sent back."""
        for name, value in headers.items():
            if name.lower() == "x-trino-set-role":
                catalog, _, role = value.partition("=")
                self._roles[catalog] = role

    def _sent(
        self, method: str, url: str, headers: dict[str, str], content: str | None
    ) -> httpx.Response:
        while True:
            response = self.client.request(method, url, headers=headers, content=content)
            if response.status_code not in _UNAVAILABLE:
                response.raise_for_status()
                return response
            time.sleep(_PAUSE_S)


@contextmanager
def trino_client(address: str) -> Iterator[httpx.Client]:
    """Connections for the sessions of a test."""
    with httpx.Client(
        base_url=address, timeout=_TIMEOUT_S, trust_env=False, verify=False
    ) as client:
        yield client
