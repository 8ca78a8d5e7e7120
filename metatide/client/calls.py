"""Calls as values: the request, and how its response is read. This module uses no network."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from metatide.client.constraint_objects import SQLAllTableConstraints
from metatide.client.errors import InvalidUrlError, NotFoundError, ServerError, UnavailableError
from metatide.client.need import WRITE_IDS, Answer, Need, Position
from metatide.client.objects import Database, Function, Partition, Table, TableMeta, WriteIds
from metatide.client.retry import retry_after_s
from metatide.client.statistics_objects import ColumnStatisticsObj

T = TypeVar("T")

Parameters = dict[str, str | int | Sequence[str]]
_HEADER_CHARS_MAX: Final = 8192
"""A longer list of write ids goes in a body: servers and proxies limit the heads of requests."""
_PATTERNS: Final = frozenset(("database", "pattern"))
"""Parameters that are sent though they are empty: such a pattern matches nothing, none matches all.
"""

_GROUNDS: Final = frozenset(("metatide-source", "metatide-reason"))
_BUSY: Final = frozenset((502, 503, 504))
"""What a server says that can't answer now, and what a proxy says that doesn't reach one."""
LINES: Final = "application/x-ndjson"


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request. `key` is the field of the response that holds the value, which is of type `kind`;
    None means the whole body.
    """

    path: str
    kind: Any
    key: str | None = None
    parameters: Parameters = field(default_factory=dict)
    names: tuple[str, ...] | None = None

    def request(self, client: httpx.Client | httpx.AsyncClient, need: Need) -> httpx.Request:
        parameters = {
            name: value
            for name, value in self.parameters.items()
            if value not in ("", ()) or name in _PATTERNS
        }
        headers, body = need.headers, dict[str, Any]()
        if self.names is not None:
            body["names"] = self.names
        if self._takes_body and len(headers.get(WRITE_IDS, "")) > _HEADER_CHARS_MAX:
            body["write_ids"] = headers.pop(WRITE_IDS)
        method, json = ("POST", body) if body else ("GET", None)
        try:
            return client.build_request(
                method, self.path, params=parameters, headers=headers, json=json
            )
        except httpx.InvalidURL as error:
            raise InvalidUrlError(f"what is asked for is too long for a URL: {error}") from error

    @property
    def _takes_body(self) -> bool:
        return self.names is not None or "/tables/" in self.path

    def read(self, response: httpx.Response) -> Answer[T]:
        """The answer in a response; raises an error if the server reported one."""
        check(response)
        try:
            value, following = self._value(response.content)
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError):
            raise _strange(response) from None
        return _answer(response, value, following)

    def _value(self, body: bytes) -> tuple[T, str | None]:
        """The value and the token of the next page."""
        if self.key is None:
            return msgspec.json.decode(body, type=self.kind), None
        fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        following = fields.get("next", msgspec.Raw(b"null"))
        return (
            msgspec.json.decode(fields[self.key], type=self.kind),
            msgspec.json.decode(following, type=str | None),
        )


def _answer(response: httpx.Response, value: T, following: str | None) -> Answer[T]:
    """An answer with the position, source and reason from the headers."""
    headers = response.headers
    return Answer(
        value,
        headers["metatide-source"],
        headers["metatide-reason"],
        position_of(response),
        headers.get("metatide-detail", ""),
        following,
    )


def position_of(response: httpx.Response) -> Position:
    try:
        return Position.parse(response.headers["metatide-position"])
    except (KeyError, ValueError):
        # Whatever is at another address, or between, says so of its own paths.
        raise _strange(response) from None


def check(response: httpx.Response, media: str = "application/json") -> None:
    """Raises the error of a response that isn't an answer of this type."""
    headers, status = response.headers, response.status_code
    if status == 200:
        type_ = headers.get("content-type", "").partition(";")[0]
        if type_ != media or not _GROUNDS.issubset(headers):
            raise _strange(response)
        return
    try:
        detail = str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        if status not in _BUSY:
            raise _strange(response) from None
        detail = response.text[:300] or response.reason_phrase
    if status == 404:
        raise NotFoundError(404, detail, position_of(response))
    if status in _BUSY:
        raise UnavailableError(status, detail, retry_after_s(headers))
    raise ServerError(status, detail)


def partition_in(line: bytes, response: httpx.Response) -> Partition:
    """The partition in a line of a stream."""
    try:
        return msgspec.json.decode(line, type=Partition)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise _strange(response) from None


def _strange(response: httpx.Response) -> ServerError:
    return ServerError(
        response.status_code,
        f"what answers at {response.url.copy_with(userinfo=b'')} doesn't answer as Metatide does: "
        "name a worker's address",
    )


def split(table: str) -> tuple[str, str, str]:
    """The catalog, database and table in `db.table` or `catalog.db.table`."""
    parts = table.split(".")
    if len(parts) not in (2, 3) or not all(parts):
        raise ValueError(f"{table!r} is no table: write db.table or catalog.db.table")
    catalog, db, name = ("", *parts)[-3:]
    return catalog, db, name


def below(table: str, rest: str = "") -> tuple[str, Parameters]:
    """The path of something that belongs to a table, and the catalog as a parameter."""
    catalog, db, name = split(table)
    return f"/v1/databases/{_part(db)}/tables/{_part(name)}{rest}", {"catalog": catalog}


def below_database(db: str, rest: str = "") -> tuple[str, Parameters]:
    """The path of something that belongs to a database, and the catalog as a parameter."""
    catalog, _, name = db.rpartition(".")
    if not name:
        raise ValueError(f"{db!r} is no database: write db or catalog.db")
    return f"/v1/databases/{_part(name)}{rest}", {"catalog": catalog}


def _part(name: str) -> str:
    """A name as a part of a path."""
    quoted = quote(name, safe="=")
    # Unescaped, it would take itself and the part before it out of the path.
    return quoted.replace(".", "%2E") if quoted in (".", "..") else quoted


def of_table(table: str) -> Call[Table]:
    path, catalog = below(table)
    return Call(path, Table, None, catalog)


def of_tables(tables: Sequence[str]) -> Call[list[Table]]:
    return Call("/v1/tables", list[Table], "tables", {}, tuple(tables))


def of_names(
    db: str, pattern: str, types: Sequence[str], after: str, limit: int | None
) -> Call[list[TableMeta]]:
    path, catalog = below_database(db, "/tables")
    parameters: Parameters = {**catalog, "pattern": pattern, "type": types, **_page(after, limit)}
    return Call(path, list[TableMeta], "tables", parameters)


def of_names_of_all(
    databases: str,
    catalog: str,
    pattern: str,
    types: Sequence[str],
    after: str,
    limit: int | None,
) -> Call[list[TableMeta]]:
    parameters: Parameters = {"catalog": catalog, "database": databases, "pattern": pattern}
    page = _page(after, limit)
    return Call(
        "/v1/table-metadata", list[TableMeta], "tables", {**parameters, "type": types, **page}
    )


def _page(after: str, limit: int | None) -> Parameters:
    return {"after": after} if limit is None else {"after": after, "limit": limit}


def of_function(db: str, function: str) -> Call[Function]:
    if not function:
        raise ValueError("the name of the function is empty")
    path, catalog = below_database(db, f"/functions/{_part(function)}")
    return Call(path, Function, None, catalog)


def of_databases(pattern: str, catalog: str, after: str, limit: int | None) -> Call[list[Database]]:
    parameters: Parameters = {"pattern": pattern, "catalog": catalog, **_page(after, limit)}
    return Call("/v1/databases", list[Database], "databases", parameters)


def of_database(db: str) -> Call[Database]:
    path, catalog = below_database(db)
    return Call(path, Database, None, catalog)


def of_functions(db: str, pattern: str, after: str, limit: int | None) -> Call[list[Function]]:
    path, catalog = below_database(db, "/functions")
    parameters: Parameters = {**catalog, "pattern": pattern, **_page(after, limit)}
    return Call(path, list[Function], "functions", parameters)


def of_partition(table: str, name: str) -> Call[Partition]:
    path, catalog = below(table, f"/partitions/{'/'.join(map(_part, name.split('/')))}")
    return Call(path, Partition, None, catalog)


@dataclass(frozen=True)
class Which:
    """A selection of partitions by filter, by first values, or by name; by default, all of them."""

    filter: str = ""
    prefix: Sequence[str] = ()
    names: Sequence[str] | None = None
    after: str = ""
    limit: int | None = None


ALL = Which()


def of_partitions(table: str, what: str, kind: Any, field: str, which: Which) -> Call[Any]:
    path, parameters = below(table, f"/{what}")
    parameters |= {"filter": which.filter, **_page(which.after, which.limit)}
    if which.names is None:
        if any(which.prefix):
            parameters["prefix"] = which.prefix
        return Call(path, kind, field, parameters)
    return Call(path, kind, field, parameters, tuple(which.names))


def of_statistics(
    table: str, columns: Sequence[str], engine: str
) -> Call[list[ColumnStatisticsObj]]:
    path, catalog = below(table, "/statistics")
    return Call(
        path,
        list[ColumnStatisticsObj],
        "tableStats",
        {**catalog, "column": columns, "engine": engine},
    )


def of_partition_statistics(
    table: str, names: Sequence[str], columns: Sequence[str], engine: str
) -> Call[dict[str, list[ColumnStatisticsObj]]]:
    path, catalog = below(table, "/partition-statistics")
    parameters: Parameters = {**catalog, "column": columns, "engine": engine}
    return Call(path, dict[str, list[ColumnStatisticsObj]], "partStats", parameters, tuple(names))


def of_aggregates(
    table: str, names: Sequence[str], columns: Sequence[str], engine: str
) -> Call[list[ColumnStatisticsObj]]:
    path, catalog = below(table, "/aggregate-statistics")
    parameters: Parameters = {**catalog, "column": columns, "engine": engine}
    return Call(path, list[ColumnStatisticsObj], "colStats", parameters, tuple(names))


def of_constraints(table: str) -> Call[SQLAllTableConstraints]:
    path, catalog = below(table, "/constraints")
    return Call(path, SQLAllTableConstraints, None, catalog)


def of_write_ids(tables: Sequence[str], txns: str) -> Call[WriteIds]:
    return Call("/v1/write-ids", WriteIds, None, {"txns": txns}, tuple(tables))


CURRENT_EVENT: Call[int] = Call("/v1/current-event", int, "eventId")
CATALOGS: Call[list[str]] = Call("/v1/catalogs", list[str], "names")
