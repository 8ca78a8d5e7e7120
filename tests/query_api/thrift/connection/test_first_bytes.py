"""Clients of all transports on one port."""

import asyncio

import pytest

from query_api.thrift.connection.first_bytes import Transport, transport_of
from query_api.thrift.protocol.compact_reader import CompactReader
from query_api.thrift.protocol.frames import Frames
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.serving import Metastore, answer, result, serving
from tests.query_api.thrift.structs import compacted, message, text

CALL = message("get_table", text(1, "t") + b"\0")
UNVERSIONED = b"\0\0\0\x09get_table\1\0\0\0\7" + text(1, "t") + b"\0"


@pytest.mark.parametrize(
    ("data", "transport"),
    [
        (CALL, Transport.PLAIN),
        (compacted(CALL), Transport.PLAIN),
        (UNVERSIONED, Transport.PLAIN),
        (b"GET / HTTP/1.1", Transport.PLAIN),
        (Frames().framed(CALL), Transport.FRAMED),
        (Frames().framed(compacted(CALL)), Transport.FRAMED),
        (Frames().framed(UNVERSIONED), Transport.FRAMED),
        (b"\x01\0\0\0\x06GSSAPI", Transport.SASL),
    ],
)
def test_the_table_of_transports_holds_however_few_bytes_come(
    data: bytes, transport: Transport
) -> None:
    outcomes = [transport_of(data[:size]) for size in range(1, 8)]
    assert outcomes[-1] is transport
    assert set(outcomes) <= {transport, None}
    assert None not in outcomes[4:]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("is_framed", [False, True])
@pytest.mark.parametrize("is_compact", [False, True])
async def test_each_client_is_answered_as_it_speaks(
    size: int, is_framed: bool, is_compact: bool
) -> None:
    async with serving(Metastore(), get_table=lambda _: answer("c")) as here:
        client, frames, reader = await here.connect(), Frames(), CompactReader(1 << 20, 1000)
        # What the cache answers, what is relayed, and the first again, which is answered at once.
        for method, want in (("get_table", "c"), ("other", "m:other"), ("get_table", "c")):
            data = message(method, text(1, "t") + b"\0")
            data = compacted(data) if is_compact else data
            data = frames.framed(data) if is_framed else data
            for at in range(0, len(data), size):
                client.writer.write(data[at : at + size])
                await asyncio.sleep(0)
            reply = b""
            while not reply.endswith(result(want)):
                async with asyncio.timeout(10):
                    piece = await client.reader.read(1 << 16)
                assert piece
                piece = frames.feed(piece) if is_framed else piece
                reply += reader.feed(piece) if is_compact else piece


async def test_a_client_that_says_too_little_is_ended() -> None:
    settings = ThriftSettings(message_timeout_s=0.1)
    async with serving(settings=settings) as here:
        client = await here.connect()
        client.writer.write(b"\0\0\0")
        async with asyncio.timeout(30):
            assert await client.reader.read() == b""
