"""A stream of partitions, whose texts hold what ends lines elsewhere, cut into blocks anywhere."""

from collections.abc import AsyncIterator, Iterator

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metatide.client import AsyncClient, Client, Settings
from metatide.client.lines import Lines

pytestmark = pytest.mark.anyio
HEADERS = {
    "metatide-source": "cache",
    "metatide-reason": "fresh",
    "metatide-position": "0:1",
    "content-type": "application/x-ndjson",
}
COMMENTS = ["a\x85b\u2028c\u2029d\x0b\x0c\x1c\x1d\x1ee", "\u00e9\U0001f30a", "plain"]
STREAM = b"".join(
    msgspec.json.encode(
        {"values": ["1"], "dbName": "d", "tableName": "t", "parameters": {"comment": comment}}
    )
    + b"\n"
    for comment in COMMENTS
)


class Blocks(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body in blocks of some size."""

    def __init__(self, body: bytes, size: int) -> None:
        self._blocks = [body[at : at + size] for at in range(0, len(body), size)]

    def __iter__(self) -> Iterator[bytes]:
        yield from self._blocks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for block in self._blocks:
            yield block


def settings(body: bytes, size: int) -> Settings:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers=HEADERS, stream=Blocks(body, size))

    return Settings(transport=httpx.MockTransport(answer))


@pytest.mark.parametrize("body", [STREAM, STREAM[:-1]])
@pytest.mark.parametrize("size", [1, 7, len(STREAM) - 1, len(STREAM)])
async def test_both_clients_read_what_is_between_line_feeds(body: bytes, size: int) -> None:
    with Client("http://metatide", settings(body, size)) as client:
        partitions = [*client.stream_partitions("d.t")]
    async with AsyncClient("http://metatide", settings(body, size)) as awaited:
        assert partitions == [part async for part in awaited.stream_partitions("d.t")]
    assert [(part.parameters or {})["comment"] for part in partitions] == COMMENTS


@given(st.lists(st.sampled_from([b"", b"a", b"\n", b"bc\n", b"\nd", b"\n\n", b"\r\n"])))
def test_lines_are_those_of_the_whole(blocks: list[bytes]) -> None:
    lines = Lines()
    parts = [line for block in blocks for line in lines.feed(block)]
    parts += lines.rest()
    assert parts == [line for line in b"".join(blocks).split(b"\n") if line]
