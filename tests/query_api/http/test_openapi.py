"""That the document is true: each of its requests is sent, each answer is as it says."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from math import inf, nan
from typing import Any, NamedTuple

import httpx
import pytest

from hive.thrift import binary
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from query_api.audit import AUDITS, Auditor
from query_api.backend import Backend
from query_api.database import Primary
from query_api.http import create_app, encode
from query_api.http.admin import ORDERS, Administration
from query_api.http.openapi import document
from query_api.http.operation import AnyOperation, OperationGroup
from query_api.objects import ColumnFigures
from tests.query_api.folded_world import World
from tests.query_api.http.connectors import Connectors
from tests.query_api.http.read_client import get
from tests.query_api.sales import sales
from tests.query_api.shards import MemoryShard, MemoryShards
from tests.support.openapi import closed, validator

MORE: list[AnyOperation] = [*ORDERS, *AUDITS]
TOLD = document(MORE)
LINES = "application/x-ndjson"


class Described(NamedTuple):
    """An operation of the document."""

    path: str
    method: str
    told: Mapping[str, Any]

    @property
    def id(self) -> str:
        return str(self.told["operationId"])

    @property
    def media(self) -> Mapping[str, Any]:
        content: Mapping[str, Any] = self.told["responses"]["200"]["content"]
        return content

    @property
    def body(self) -> Mapping[str, Any]:
        content: Mapping[str, Any] = self.told.get("requestBody", {"content": {}})["content"]
        return content

    @property
    def url(self) -> str:
        return self.path.format(**{one["name"]: one["example"] for one in self.parameters("path")})

    def parameters(self, place: str) -> Iterator[Mapping[str, Any]]:
        for one in self.told["parameters"]:
            named = one.get("$ref", "").rpartition("/")[2]
            found = TOLD["components"]["parameters"][named] if named else one
            if found["in"] == place:
                yield found

    def queries(self) -> Iterator[dict[str, Any]]:
        """What must be given; and each time one thing that may be given, too."""
        query = {one["name"]: one["example"] for one in self.parameters("query")}
        needed = {
            one["name"]: one["example"] for one in self.parameters("query") if "required" in one
        }
        yield needed
        for name in query:
            # A list and an id say something together only.
            also = ["table_id"] if name == "write_ids" else []
            yield {**needed, **{one: query[one] for one in (name, *also)}}


OPERATIONS = [
    Described(path, method, told)
    for path, methods in TOLD["paths"].items()
    for method, told in methods.items()
]
Answers = Mapping[str, list[httpx.Response]]


@pytest.fixture(scope="module")
def world(new_metastore_database: Callable[[], str]) -> World:
    return sales(new_metastore_database())


@pytest.fixture(scope="module")
def answers(world: World) -> Answers:
    """What a server with a real database says to each request of the document, by operation."""
    return asyncio.run(ask_all(world))


async def ask_all(world: World) -> Answers:
    primary = Primary(world.url, connections=2)
    backend = Backend(world.shards, primary)
    auditor = Auditor(backend.views, primary)
    administration = Administration(backend.views, Connectors())
    app = create_app(
        backend,
        more_operations=[OperationGroup(ORDERS, administration), OperationGroup(AUDITS, auditor)],
    )
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 4711))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        by_operation = {
            one.id: [await ask(client, one, query) for query in one.queries()] for one in OPERATIONS
        }
        for operation in OPERATIONS:
            if LINES in operation.media:
                accepting = {"accept": LINES}
                by_operation[f"{operation.id} in lines"] = [
                    await ask(client, operation, {}, accepting)
                ]
            by_operation[f"{operation.id} refused"] = [
                await ask(client, operation, {}, {"host": "strange.example"}),
                await client.request(operation.method, operation.url, content=b"tables"),
            ]
    auditor.close()
    await backend.close()
    await primary.close()
    return by_operation


async def ask(
    client: httpx.AsyncClient,
    one: Described,
    query: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
) -> httpx.Response:
    body = one.body.get("application/json", {}).get("example")
    given = {} if body is None else {"json": body}
    return await client.request(one.method, one.url, params=query, headers=headers, **given)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
def test_each_request_is_answered_as_the_document_says(
    operation: Described, answers: Answers
) -> None:
    for answer in answers[operation.id]:
        assert answer.status_code == 200, (answer.url, answer.text)
        media = answer.headers["content-type"].partition(";")[0]
        check = validator(closed(TOLD), operation.media[media]["schema"])
        check.validate(answer.json() if media == "application/json" else answer.text)
        undescribed = {name for name in answer.headers if name.startswith("metatide-")} - {
            name.lower() for name in operation.told["responses"]["200"].get("headers", ())
        }
        assert not undescribed


@pytest.mark.parametrize("figure", [1.5, nan, inf, -inf])
def test_figures_that_are_no_numbers_are_described(figure: float) -> None:
    of_column = {"doubleStats": {"lowValue": figure, "highValue": 2.0, "numNulls": 0, "numDVs": 1}}
    data = binary.encode(COLUMN_STATISTICS_OBJ, {"colName": "price", "statsData": of_column})
    body = encode.table_statistics([ColumnFigures("hive", "price", 0, data)])
    [described] = [one for one in OPERATIONS if one.id == "getTableStatistics"]
    check = validator(closed(TOLD), described.media["application/json"]["schema"])
    check.validate(json.loads(body))


def test_each_integer_may_have_64_bits() -> None:
    """Generators of clients for Java and C# take those without a format for 32 bits."""
    integers = [schema for schema in schemas_of(TOLD) if "integer" in schema["type"]]
    assert len(integers) > 100
    assert all(schema["format"] == "int64" for schema in integers)


def schemas_of(part: Any) -> Iterator[Mapping[str, Any]]:
    """The schemas that name a type, wherever they are; what stands in examples has none."""
    if isinstance(part, dict) and isinstance(part.get("type"), str | list):
        yield part
    items = part.items() if isinstance(part, dict) else enumerate(part)
    for key, item in items:
        if key != "example" and isinstance(item, dict | list):
            yield from schemas_of(item)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
def test_each_refusal_is_described(operation: Described, answers: Answers) -> None:
    by_a_strange_name, without_json = answers[f"{operation.id} refused"]
    for answer in (by_a_strange_name, without_json):
        assert str(answer.status_code) in operation.told["responses"], answer.text
    if operation.told.get("security") != []:
        assert by_a_strange_name.status_code == 403
    if operation.body:
        assert without_json.status_code in (403, 415)


@pytest.mark.parametrize("one", OPERATIONS, ids=lambda one: one.id)
def test_each_example_has_the_form_that_is_told(one: Described) -> None:
    for media in (*one.media.values(), *one.body.values()):
        if "example" in media:
            validator(closed(TOLD), media["schema"]).validate(media["example"])
    for parameter in (*one.parameters("path"), *one.parameters("query")):
        validator(TOLD, parameter["schema"]).validate(parameter["example"])


def test_examples_of_reads_are_what_is_answered(answers: Answers) -> None:
    shown = {
        one.id: one.media["application/json"]["example"]
        for one in OPERATIONS
        if "Metatide-Source" in one.told["responses"]["200"].get("headers", ())
    }
    assert len(shown) > 20
    assert {id_: answers[id_][0].json() for id_ in shown} == shown


def test_lines_are_the_items_of_the_list(answers: Answers) -> None:
    in_lines = [one for one in OPERATIONS if LINES in one.media]
    assert in_lines
    for operation in in_lines:
        [answer] = answers[f"{operation.id} in lines"]
        [items] = (value for value in answers[operation.id][0].json().values() if value)
        assert [json.loads(line) for line in answer.text.splitlines()] == items


def test_a_read_that_cannot_be_answered_says_when_to_ask_again_as_described() -> None:
    [answer] = get(MemoryShards(MemoryShard()), "/v1/databases/sales/tables/orders")
    assert answer.status_code == 503
    [described] = [one for one in OPERATIONS if one.id == "getTable"]
    [(name, header)] = described.told["responses"]["503"]["headers"].items()
    schema = TOLD["components"]["headers"][header["$ref"].rpartition("/")[2]]["schema"]
    validator(TOLD, schema).validate(int(answer.headers[name]))


def test_a_server_describes_what_it_serves_and_no_more() -> None:
    [response] = get(MemoryShards(MemoryShard()), "/v1/openapi.json")
    assert response.json() == document()
    left_out = TOLD["paths"].keys() - document()["paths"].keys()
    assert left_out == {one.path for one in MORE}


def test_no_two_things_have_one_name() -> None:
    ids = [one.id for one in OPERATIONS]
    assert len(set(ids)) == len(ids)
    # Structs of the same name would get longer ones.
    assert all(name.isidentifier() for name in TOLD["components"]["schemas"])
