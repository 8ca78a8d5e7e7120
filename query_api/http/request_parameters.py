"""The parameters of a request: names in the path, the query, and names in the body."""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl, unquote

import msgspec

from hive.errors import UNDECODABLE, InputError, TooLargeError
from hive.names import (
    DatabaseName,
    TableName,
    default_catalog,
    is_storable,
    parse_table_name,
    storable,
    stored_partition_name,
)
from query_api.reads import Page
from query_api.requirement import PARAMETERS

QUERY_BYTES_MAX: Final = 32 * 1024
NAMES_MAX: Final = 10_000
FIELDS_MAX: Final = 10_100
NAMED: Final = frozenset(("name", "table"))
"""The parameters whose values may be the names in a body instead."""
_REQUIREMENTS: Final = frozenset(PARAMETERS)


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A body with parameters that may be too long for a URL."""

    names: list[str] | None = None
    filter: str | None = None
    write_ids: str | None = None


_decode_body = msgspec.json.Decoder(Body).decode


class RequestParameters:
    """The parameters of one request, each checked when it is read."""

    def __init__(
        self, path: Mapping[str, str], query: bytes, body: bytes, allowed: frozenset[str]
    ) -> None:
        if len(query) > QUERY_BYTES_MAX:
            raise TooLargeError(
                f"the query is longer than {QUERY_BYTES_MAX} bytes: send names, filter and "
                "write_ids in the body of a POST"
            )
        self._path = {name: _check(name, unquote(value)) for name, value in path.items()}
        self._query: dict[str, list[str]] = {}
        for name, value in _pairs(query):
            if name not in allowed and name not in _REQUIREMENTS:
                names = ", ".join(sorted(allowed | _REQUIREMENTS))
                raise InputError(f"unknown parameter {name[:40]!r}: give one of {names}")
            self._query.setdefault(name, []).append(_check(name, value))
        self._body = _parse_body(body) if body else Body()
        if self._body.names is not None and NAMED.isdisjoint(allowed):
            raise InputError("this read takes no names in the body")
        if self._body.filter is not None and "filter" not in allowed:
            raise InputError("this read takes no filter in the body")

    def requirement(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The requirement on the answer; the query takes precedence over the headers."""
        if not self._query and self._body.write_ids is None:
            return dict(headers)
        conditions = {
            **headers,
            **{name: self.single(name) for name in self._query.keys() & _REQUIREMENTS},
        }
        if self._body.write_ids is not None:
            conditions["write_ids"] = self._body.write_ids
        return conditions

    def single(self, name: str, default: str = "") -> str:
        values = self._query.get(name)
        if values is None:
            return default
        if len(values) > 1:
            raise InputError(f"give {name} once, not {len(values)} times")
        return values[0]

    def many(self, name: str) -> tuple[str, ...]:
        return tuple(self._query.get(name, ()))

    @property
    def catalog(self) -> str:
        return self._name().catalog

    @property
    def db(self) -> DatabaseName:
        return self._name(self._path["db"]).database

    @property
    def table(self) -> TableName:
        return self._name(self._path["db"], self._path["table"])

    def _name(self, db: str = "", table: str = "") -> TableName:
        catalog = self.single("catalog", default_catalog())
        return storable(TableName(catalog.lower(), db.lower(), table.lower()))

    def in_path(self, name: str) -> str:
        return self._path[name]

    @property
    def filter(self) -> str | None:
        return self._body.filter or self.single("filter") or None

    def names(self, name: str) -> tuple[str, ...]:
        """The names in the query or in the body."""
        names = (*self.many(name), *(self._body.names or ()))
        if len(names) > NAMES_MAX:
            raise TooLargeError(f"{len(names)} names are too many: give at most {NAMES_MAX}")
        return names

    def has_names(self, name: str) -> bool:
        return name in self._query or self._body.names is not None

    def tables(self, name: str) -> tuple[TableName, ...]:
        """The full names of the tables, at least one."""
        tables = tuple(dict.fromkeys(map(parse_table_name, self.names(name))))
        if not tables:
            raise InputError(f"name at least one table by {name}=db.table or in the body")
        return tables

    def partitions(self) -> tuple[str, ...]:
        """The names of partitions, spelled as they are stored."""
        return tuple(map(stored_partition_name, self.names("name")))

    def page(self, default: int | None, most: int) -> Page:
        text = self.single("limit")
        limit = default
        if text:
            limit = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
            if not 0 < limit <= most:
                raise InputError(f"bad limit {text[:20]!r}: write a number from 1 to {most}")
        return Page(self.single("after"), limit)


def _check(name: str, value: str) -> str:
    """A parameter's value. Raises InputError if the metastore's database can't hold it."""
    if not is_storable(value):
        raise InputError(f"{name} {value[:40]!r} has a character that no database can hold")
    return value


def _pairs(query: bytes) -> Sequence[tuple[str, str]]:
    if not query:
        return ()
    try:
        return parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=FIELDS_MAX,
        )
    except ValueError as error:
        raise InputError(f"the query can't be read: {error}"[:200]) from None


def _parse_body(body: bytes) -> Body:
    try:
        parameters = _decode_body(body)
    except UNDECODABLE as error:
        raise InputError(f"the body is invalid: {error}"[:200]) from None
    for name in parameters.names or ():
        _check("name", name)
    _check("filter", parameters.filter or "")
    return parameters
