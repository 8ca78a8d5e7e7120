"""Calls of the worker's own over a connection that others may use, too."""

import asyncio
import struct

import pytest

from hive.errors import UpstreamError
from query_api.thrift.metastore.link import Reply, ask
from query_api.thrift.metastore.upstream import Upstreams, UpstreamSettings
from query_api.thrift.protocol.scanner import Scanner
from tests.query_api.thrift.serving import Metastore, result
from tests.query_api.thrift.structs import message


class Mistaken(Metastore):
    """Replies as if it had been called by another method, or with another number."""

    def __init__(self, method: str, difference: int) -> None:
        super().__init__()
        self._method = method
        self._difference = difference

    def _reply(self, scanner: Scanner, writer: asyncio.StreamWriter) -> bool:
        (sequence,) = struct.unpack("!i", scanner.sequence)
        body = result("yes")
        writer.write(message(self._method, body, kind=2, sequence=sequence ^ self._difference))
        return True


@pytest.mark.parametrize(
    ("method", "difference"), [("get_table_req", 0), ("get_table_req", 1), ("get_table", 0)]
)
async def test_only_the_reply_to_the_same_call_is_one(method: str, difference: int) -> None:
    metastore = Mistaken(method, difference)
    await metastore.start()
    link = await Upstreams(UpstreamSettings((metastore.address,))).open()
    try:
        if (method, difference) == ("get_table_req", 0):
            assert await ask(link, "get_table_req", b"\0") == Reply(2, result("yes"))
            assert link.usable
        else:
            with pytest.raises(UpstreamError, match="by the reply to another call"):
                await ask(link, "get_table_req", b"\0")
            assert not link.usable
    finally:
        link.close()
        await metastore.stop()
