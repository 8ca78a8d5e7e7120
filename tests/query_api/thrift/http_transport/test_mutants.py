"""Requests that were cut, repeated and changed at random: none brings the server out of step."""

import asyncio
import random
from contextlib import suppress
from typing import Any

import pytest

from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.http_transport.clients import HEAD, call, serving_http
from tests.query_api.thrift.serving import Metastore, answer, result, until
from tests.query_api.thrift.structs import message, text

MUTANTS = 400
BODY = message("get_table", text(1, "y" * 300) + b"\0")
CHUNKS = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (BODY[:50], BODY[50:]))
REQUESTS = (
    call("get_table", headers={"x-actor-username": "ann"}),
    call("get_pieces") + call("get_table"),
    call("create_database", headers={"x-actor-username": "bob"}),
    f"{HEAD}transfer-encoding: chunked\r\n\r\n".encode() + CHUNKS + b"0\r\n\r\n",
)


def mutant(chance: random.Random) -> list[bytes]:
    """The pieces of a changed request."""
    data = bytearray(chance.choice(REQUESTS))
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                del data[at : at + chance.randrange(1, 40)]
            case 2:
                data[at:at] = data[at : at + chance.randrange(1, 40)]
            case _:
                data[at:at] = chance.choice(
                    (b"\r\n", b"0\r\n\r\n", b"content-length: 3\r\n", b"\0")
                )
        data = data or bytearray(b"\0")
    cut = chance.randrange(len(data) + 1)
    return [bytes(data[:cut]), bytes(data[cut:])]


@pytest.mark.parametrize("seed", [1, 2])
async def test_no_request_brings_the_server_out_of_step(seed: int) -> None:
    chance = random.Random(seed)
    failures: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    methods: dict[str, Any] = {
        "get_table": lambda _: answer("c"),
        "get_pieces": lambda _: answer([b"ab", b"cd"]),
    }
    settings = ThriftSettings(message_timeout_s=600)
    async with serving_http(Metastore(), settings=settings, **methods) as here:
        steady = await here.connect()
        for _ in range(MUTANTS):
            client = await here.connect()
            with suppress(ConnectionError):
                for piece in mutant(chance):
                    client.writer.write(piece)
                    await client.writer.drain()
                    await asyncio.sleep(0)
            said = await steady.ask(call("get_table"))
            assert said.body == message("get_table", result("c"), kind=2)
            if chance.random() < 0.5:
                client.close()
        for client in here.clients:
            client.close()
        await until(lambda: not here.running.server._connections)
        assert here.bytes_in_flight == 0
        assert 'refused_total{reason="failed"}' not in here.metrics()
    assert not failures
