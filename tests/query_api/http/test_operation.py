"""That a declared operation is its route and its description."""

import asyncio
from hashlib import sha256

import httpx
import msgspec
import pytest
from starlette.applications import Starlette

from query_api.http.access import Access, Role, Tokens
from query_api.http.gate import Gate
from query_api.http.operation import Operation, OperationRequest, described
from query_api.http.routes import routes_of


class Amount(msgspec.Struct, forbid_unknown_fields=True):
    by: int


class Counter:
    def __init__(self) -> None:
        self.counts = {7: 40}
        self.names: list[str] = []

    async def add(self, request: OperationRequest[Amount]) -> int:
        self.names.append(request.by.name)
        self.counts[request.http.path_params["number"]] += request.body.by
        return self.counts[7]


def add(access: Access) -> Operation[Counter, Amount, int]:
    return Operation(
        "add",
        "post",
        "/v1/counters/{number}",
        "Add to a counter",
        Counter.add,
        int,
        42,
        access,
        Amount,
        Amount(2),
        in_path=(("number", "Its number.", 7),),
    )


TOKENS = Tokens(
    {sha256(name).digest(): role for name, role in ((b"r", Role.READ), (b"a", Role.ADMIN))},
    {sha256(b"r").digest(): "ann", sha256(b"a").digest(): "bob"},
)


def post(counter: Counter, access: Access, token: str, content: str) -> httpx.Response:
    app = Starlette(routes=routes_of([add(access)], counter, Gate(TOKENS)))

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
            return await client.post("/v1/counters/7", content=content, headers=headers)

    return asyncio.run(ask())


def test_its_owner_answers() -> None:
    counter = Counter()
    answer = post(counter, Access.READERS, "r", '{"by":2}')
    assert (answer.status_code, answer.json(), counter.names) == (200, 42, ["ann"])


@pytest.mark.parametrize(
    ("access", "token", "status"),
    [
        (Access.EVERYBODY, "unknown", 200),
        (Access.READERS, "unknown", 401),
        (Access.READERS, "a", 200),
        (Access.ADMINISTRATORS, "unknown", 403),
        (Access.ADMINISTRATORS, "r", 403),
        (Access.ADMINISTRATORS, "a", 200),
    ],
)
def test_callers_need_the_declared_access(access: Access, token: str, status: int) -> None:
    counter = Counter()
    assert post(counter, access, token, '{"by":2}').status_code == status
    assert len(counter.names) == (status == 200)


@pytest.mark.parametrize("content", ["[]", '{"by":"2"}', '{"by":2,"more":1}', "{"])
def test_its_owner_gets_only_bodies_of_the_declared_form(content: str) -> None:
    counter = Counter()
    assert post(counter, Access.READERS, "r", content).status_code == 400
    assert counter.names == []


def test_its_description_has_the_path_that_is_served() -> None:
    problems = {status: status for status in ("400", "401", "403", "413", "415")}
    [(path, methods)] = described([add(Access.READERS)], problems).items()
    assert (path, [*methods]) == ("/v1/counters/{number}", ["post"])
    assert methods["post"]["responses"].keys() == {"200", *problems}
    assert methods["post"]["requestBody"]["content"]["application/json"]["example"] == {"by": 2}
