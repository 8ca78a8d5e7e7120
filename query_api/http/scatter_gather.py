"""Reads whose objects are spread over several workers: each gives a part, and the parts are merged.

The answer is as complete as the least complete part.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import structlog

from hive.errors import UNDECODABLE, InputError, NoSuchObjectError
from hive.names import DatabaseName, TableName, default_catalog, parse_table_name, table_name
from query_api.http import encode
from query_api.http.forward import Forwarder, WholeAnswer, has_reached
from query_api.http.requirement_headers import headers_of
from query_api.positions import Position, parse_position
from query_api.reads import GetTables, ListDatabases, ListTablesOfAll, Read, Rendered, cut
from query_api.reasons import SERVING, Reason, Source
from query_api.requirement import Requirement
from query_api.resolver.answer import ReadAnswer
from query_api.resolver.resolver import Resolver
from query_api.shards import Views
from query_api.targets import Target, TargetKind, of_database

Splittable = GetTables | ListTablesOfAll
OWNERS_MAX: Final = 64

log = structlog.get_logger(__name__)


class Part(NamedTuple):
    """One worker's part of an answer."""

    source: Source
    reason: Reason
    position: Position
    detail: str
    items: list[msgspec.Raw]
    next: str | None = None
    """The last name of this part; None if the worker has no further ones."""


class _Line(msgspec.Struct, rename="camel"):
    """The fields by which a line names its table."""

    table_name: str
    db_name: str
    cat_name: str | None = None


class _Body(msgspec.Struct):
    tables: list[msgspec.Raw]
    next: str | None = None


_decode_body: Final = msgspec.json.Decoder(_Body).decode
_decode_line: Final = msgspec.json.Decoder(_Line).decode


class Parts:
    """Requests one part from each owner."""

    def __init__(self, resolver: Resolver, views: Views, forwarder: Forwarder) -> None:
        self._resolver = resolver
        self._views = views
        self._forwarder = forwarder

    async def answer(self, read: Read[Any], requirement: Requirement) -> ReadAnswer[bytes] | None:
        """The merged answer; None if the read isn't spread over several workers, or a part is
        missing.
        """
        if not isinstance(read, GetTables | ListTablesOfAll):
            return None
        first = None
        target_of: Callable[[str], Target] = _of_table
        if isinstance(read, GetTables):
            names = list(map(str, read.names))
        else:
            listing = ListDatabases(read.catalog, read.databases, names_only=True)
            if self._owner(*listing.targets) is not None:
                return None
            first = await self._resolver.answer(listing, requirement)
            assert not isinstance(first.value, NoSuchObjectError)
            listed = (name for name, _ in first.value.items)
            names = [name for name in listed if read.only is None or name in read.only]
            target_of = _of_names(read.catalog)
        owners: dict[str | None, list[str]] = {}
        for name in names:
            owners.setdefault(self._owner(target_of(name)), []).append(name)
        if not owners.keys() - {None} or len(owners) > OWNERS_MAX:
            return None
        parts = await asyncio.gather(
            *(
                self._here(read, requirement, some)
                if url is None
                else self._there(read, requirement, url, some)
                for url, some in owners.items()
            )
        )
        whole = [part for part in parts if part is not None]
        if len(whole) != len(parts):
            return None
        if first is not None:
            whole.append(Part(first.source, first.reason, first.position, first.detail, []))
        try:
            return _together(read, whole)
        except UNDECODABLE as error:
            log.warning("what a shard's owner answers can't be read", error=str(error))
            return None

    def _owner(self, target: Target) -> str | None:
        """The other worker that owns the shard; None if this worker does, or if none does."""
        source, number = self._views.source, self._views.shard_of(target)
        return None if source.shard(number) is not None else source.owner_url(number)

    async def _here(self, read: Splittable, requirement: Requirement, names: Sequence[str]) -> Part:
        part: Rendered[Any]
        if isinstance(read, GetTables):
            part = Rendered(GetTables(tuple(map(parse_table_name, names))), encode.tables)
        else:
            own = msgspec.structs.replace(read, only=tuple(names))
            part = Rendered(own, encode.table_lines_of_all)
        answer = await self._resolver.answer(part, requirement)
        assert isinstance(answer.value, bytes)
        body = _decode_body(answer.value)
        grounds = (answer.source, answer.reason, answer.position, answer.detail)
        return Part(*grounds, body.tables, body.next)

    async def _there(
        self,
        read: Splittable,
        requirement: Requirement,
        url: str,
        names: Sequence[str],
    ) -> Part | None:
        path = "/v1/tables"
        parameters: Mapping[str, str | Sequence[str]] = {}
        if isinstance(read, ListTablesOfAll):
            path = "/v1/table-metadata"
            parameters = _parameters(read)
        body = msgspec.json.encode({"names": names})
        response = await self._forwarder.ask(url, path, parameters, headers_of(requirement), body)
        if response is None or response.status != 200:
            return None
        if not has_reached(response.headers, requirement.min_position):
            return None
        try:
            return _part(response)
        except (KeyError, ValueError, InputError, *UNDECODABLE) as error:
            why = f"{type(error).__name__} {error}"
            log.warning("what a shard's owner answers can't be read", url=url, error=why)
            return None


def _part(response: WholeAnswer) -> Part:
    """The part in an owner's answer."""
    in_response, in_body = response.headers, _decode_body(response.content)
    return Part(
        Source(in_response["metatide-source"]),
        Reason(in_response["metatide-reason"]),
        parse_position(in_response["metatide-position"]),
        in_response.get("metatide-detail", ""),
        in_body.tables,
        in_body.next,
    )


def _together(read: Splittable, parts: Sequence[Part]) -> ReadAnswer[bytes]:
    worst = min(parts, key=lambda part: (part.reason in SERVING, part.reason is Reason.FRESH))
    items = [item for part in parts for item in part.items]
    if isinstance(read, GetTables):
        by_name = {_name_of(item): item for item in items}
        lines = [by_name[name] for name in read.names if name in by_name]
        value = msgspec.json.encode({"tables": lines})
    else:
        sorted_items = sorted(((_name_of(item).in_catalog, item) for item in items), key=_first)
        page = cut(sorted_items, _first, read.page)
        following = page.next
        if following is None and sorted_items and any(part.next for part in parts):
            # A part that was cut fills the page, which then ends before what that worker left out.
            following = _first(sorted_items[-1])
        tables = [item for _, item in page.items]
        value = msgspec.json.encode({"tables": tables, "next": following})
    position = min(part.position for part in parts)
    return ReadAnswer(value, worst.source, worst.reason, position, worst.detail)


def _first(item: tuple[str, msgspec.Raw]) -> str:
    return item[0]


def _name_of(item: msgspec.Raw) -> TableName:
    line = _decode_line(item)
    return table_name(line.cat_name, line.db_name, line.table_name)


def _of_table(name: str) -> Target:
    return Target(TargetKind.TABLE, parse_table_name(name))


def _of_names(catalog: str) -> Callable[[str], Target]:
    return lambda name: of_database(TargetKind.NAMES, DatabaseName(catalog, name))


def _parameters(read: ListTablesOfAll) -> Mapping[str, str | Sequence[str]]:
    assert read.page.limit is not None
    parameters: dict[str, str | Sequence[str]] = {
        "catalog": read.catalog or default_catalog(),
        "pattern": read.pattern,
        "type": read.types,
        "after": read.page.after,
        "limit": str(read.page.limit),
    }
    return {name: value for name, value in parameters.items() if value}
