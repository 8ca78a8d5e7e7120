"""A worker that has gone wrong."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


def whole(status: int, body: bytes) -> bytes:
    """A whole answer."""
    return b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n" % (status, len(body)) + body


HALF = (
    b"HTTP/1.1 200 OK\r\nmetatide-source: cache\r\nmetatide-position: 0:4\r\n"
    b"content-length: 1000\r\n\r\nhalf"
)


@asynccontextmanager
async def faulty_owner(answer: bytes | None) -> AsyncIterator[str]:
    """The URL of one that answers with these bytes and hangs up, or never answers."""

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if answer is None:
            await reader.read()
        else:
            writer.write(answer)
        writer.close()

    async with await asyncio.start_server(send, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
