"""Questions over HTTP, along with the calls that ask a metastore the same."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import httpx

from tests.differential.question_parts import KnownTable
from tests.differential.steps import Question
from tests.query_api.thrift.methods import corpus
from tests.query_api.thrift.methods.wire import request

# Fields that a metastore adds according to the client's capabilities.
_BY_CAPABILITIES: Final = {"accessType", "requiredReadCapabilities", "requiredWriteCapabilities"}


class _Field(NamedTuple):
    """The field with the answer in the JSON, and in the metastore's result; None for all of it."""

    ours: str | None
    theirs: str | None


_FIELDS: Final[Mapping[str, _Field]] = {
    "get_table_req": _Field(None, "table"),
    "get_partition_names": _Field("names", None),
    "get_partitions": _Field("partitions", None),
    "get_all_table_constraints": _Field(None, "allTableConstraints"),
    "get_database": _Field(None, None),
}


def questions(of: KnownTable) -> Iterator[Question]:
    """Questions about a table, its partitions, its constraints and its database."""
    database = f"/v1/databases/{quote(of.db)}"
    path = f"{database}/tables/{quote(of.name)}"
    place = {"dbName": of.db, "tblName": of.name, "catName": "hive"}
    able = request("ClientCapabilities", values=[corpus.INSERT_ONLY])
    for url, call in (
        (path, corpus.req("get_table_req", "GetTableRequest", **place, capabilities=able)),
        (f"{path}/partition-names", corpus.call("get_partition_names", of.db, of.name, -1)),
        (f"{path}/partitions?limit=10000", corpus.call("get_partitions", of.db, of.name, -1)),
        (
            f"{path}/constraints",
            corpus.req("get_all_table_constraints", "AllTableConstraintsRequest", **place),
        ),
        (database, corpus.call("get_database", of.db)),
    ):
        yield Question(call.method, call.given, path=url)


def answer(client: httpx.Client, question: Question) -> Any:
    """The answer over HTTP, in the same shape as from `of_metastore`."""
    assert question.path is not None
    response = client.get(question.path)
    if response.status_code == httpx.codes.NOT_FOUND:
        return "nothing"
    response.raise_for_status()
    field = _FIELDS[question.method].ours
    return _answer(response.json() if field is None else response.json()[field])


def of_metastore(method: str, value: Any) -> Any:
    """The metastore's answer, in the shape that it has over HTTP."""
    if isinstance(value, tuple):
        return "nothing"
    field = _FIELDS[method].theirs
    return _answer(value if field is None else value[field])


def _answer(value: Any) -> Any:
    """Treats an empty answer as none: for a missing table, the metastore returns empty lists."""
    empty = not value or (isinstance(value, dict) and not any(value.values()))
    return "nothing" if empty else _plain(value)


def _plain(value: Any) -> Any:
    """The value without unset fields."""
    if isinstance(value, dict):
        return {
            key: _plain(item)
            for key, item in value.items()
            if item is not None and key not in _BY_CAPABILITIES
        }
    return [_plain(item) for item in value] if isinstance(value, list) else value
