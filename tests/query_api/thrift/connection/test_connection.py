"""Clients that say nothing of ours, too much, or nothing at all."""

import asyncio
import gc
import ssl
import subprocess
from pathlib import Path
from random import Random

import psutil
import pytest

from query_api.in_flight import Budget
from query_api.thrift import server
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.serving import (
    HOST,
    Client,
    Metastore,
    Running,
    answer,
    result,
    serving,
    until,
)
from tests.query_api.thrift.structs import message, text

MIB = 1 << 20


async def get(client: Client) -> bytes | None:
    reply = await client.call("get_table", text(1, "t") + b"\0")
    return None if reply is None else reply.body


async def still_answers(here: Running) -> None:
    assert await get(await here.connect()) == result("c")


async def ended_for(here: Running, why: str, times: int = 1) -> None:
    line = f'metatide_thrift_refused_total{{reason="{why}"}} {float(times)}'
    await until(lambda: line in here.metrics())


async def test_a_client_of_sasl_is_told_that_it_is_not_spoken() -> None:
    async with serving(get_table=lambda _: answer("c")) as here:
        client = await here.connect()
        client.writer.write(b"\x01\0\0\0\x06GSSAPI")
        said = await client.reader.read()
        assert said[0] == 3
        assert int.from_bytes(said[1:5], "big") == len(said) - 5
        assert b"SASL" in said
        await ended_for(here, "sasl")
        await still_answers(here)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        message("get_table", b"\x0b\0\1\x7f\xff\xff\xff"),
        message("get_table", b"\x0c\0\1" * 100),
        message("get_table", b"\0", kind=2),
        b"\xff" * 100,
    ],
)
async def test_what_is_no_call_ends_the_connection_with_a_reason(data: bytes) -> None:
    async with serving(get_table=lambda _: answer("c")) as here:
        client = await here.connect()
        assert await get(client) == result("c")
        client.writer.write(data)
        reply = await client.reply()
        if reply is not None:
            assert reply.kind == 3
            assert await client.reply() is None
        await ended_for(here, "protocol")
        await still_answers(here)


async def test_hostile_bytes_end_connections_and_take_no_memory() -> None:
    random = Random(7)
    good = message("get_table", text(1, "t") + b"\x0d\0\2\x0b\x0b\0\0\0\1\0\0\0\1a\0\0\0\1b\0")

    async def attack(here: Running, size: int) -> None:
        client = await here.connect()
        data = bytearray(good * 20 if random.random() < 0.5 else random.randbytes(size))
        for _ in range(random.randrange(1, 6)):
            data[random.randrange(len(data))] = random.randrange(256)
        client.writer.write(bytes(data))
        client.writer.write_eof()
        async with asyncio.timeout(60):
            while await client.reader.read(1 << 16):
                pass
        here.clients.remove(client)
        await client.close()

    async with serving(Metastore(), get_table=lambda _: answer("c")) as here:
        process = psutil.Process()
        before = 0
        for number in range(600):
            await attack(here, random.randrange(1, 3000))
            if number == 200:
                gc.collect()
                before = process.memory_info().rss
        await until(lambda: "metatide_thrift_connections 0.0" in here.metrics())
        gc.collect()
        assert process.memory_info().rss - before < 16 * MIB
        assert here.server._budget.bytes == 0
        await still_answers(here)


async def test_a_call_beyond_the_limit_is_refused_and_one_within_it_in_pieces_is_answered() -> None:
    settings = ThriftSettings(message_bytes_max=MIB)
    async with serving(settings=settings, get_table=lambda _: answer("c")) as here:
        client = await here.connect()
        data = message("get_table", text(1, "x" * (MIB - 100)) + b"\0")
        for at in range(0, len(data), 50_000):
            client.writer.write(data[at : at + 50_000])
            await client.writer.drain()
        assert await client.reply() is not None
        assert here.server._budget.bytes == 0
        client.writer.write(message("get_table", text(1, "x" * MIB) + b"\0"))
        reply = await client.reply()
        assert reply is None or reply.kind == 3
        await ended_for(here, "protocol")


async def test_all_clients_together_may_send_so_much() -> None:
    half = message("get_table", text(1, "x" * 2 * MIB) + b"\0")[: MIB * 3 // 4]
    async with serving(in_flight=Budget(MIB), get_table=lambda _: answer("c")) as here:
        first, second = await here.connect(), await here.connect()
        first.writer.write(half)
        await until(lambda: here.server._budget.bytes == len(half))
        second.writer.write(half)
        await ended_for(here, "limit")
        await still_answers(here)
        assert here.server._budget.bytes == len(half)


async def test_there_may_be_so_many_connections() -> None:
    settings = ThriftSettings(connections_max=3)
    async with serving(settings=settings, get_table=lambda _: answer("c")) as here:
        clients = [await here.connect() for _ in range(3)]
        for client in clients:
            assert await get(client) == result("c")
        assert await (await here.connect()).reader.read() == b""
        await ended_for(here, "connections")
        await clients[0].close()
        await until(lambda: "metatide_thrift_connections 2.0" in here.metrics())
        await still_answers(here)


async def test_a_client_that_never_ends_its_call_or_takes_no_reply_is_ended() -> None:
    settings = ThriftSettings(message_timeout_s=0.2)
    async with serving(
        settings=settings,
        get_table=lambda _: answer("c"),
        get_big=lambda _: answer("x" * MIB * 8),
    ) as here:
        idle = await here.connect()
        assert await get(idle) == result("c")
        half, deaf = await here.connect(), await here.connect()
        half.writer.write(message("get_table", b"\0")[:-1])
        deaf.writer.write(message("get_big", b"\0"))
        await ended_for(here, "slow", 2)
        assert await get(idle) == result("c"), "a client may wait between two calls"


def serves_tls(tmp_path: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's context, and its certificate."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        f"-keyout {key} -out {certificate} -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    serves = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serves.load_cert_chain(certificate, key)
    return serves, certificate


async def test_tls(tmp_path: Path) -> None:
    serves, certificate = serves_tls(tmp_path)
    trusts = ssl.create_default_context(cafile=str(certificate))
    async with serving(
        settings=ThriftSettings(tls=serves), get_table=lambda _: answer("c")
    ) as here:
        client = await here.connect(ssl=trusts)
        assert await get(client) == result("c")
        plain = await here.connect()
        assert await get(plain) is None
        assert await get(client) == result("c")


async def test_a_client_that_never_ends_the_handshake_of_tls_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "TLS_HANDSHAKE_S_MAX", 0.2)
    async with serving(settings=ThriftSettings(tls=serves_tls(tmp_path)[0])) as here:
        for port in (here.port, await here.server.start_http(HOST, 0)):
            reader, writer = await asyncio.open_connection(HOST, port)
            async with asyncio.timeout(30):
                assert await reader.read() == b""
            writer.close()
