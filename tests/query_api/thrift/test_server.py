"""What a server tells of the connections that it ends."""

import pytest
import structlog.testing

from query_api.backend import Backend
from query_api.latest.log_end import LogEnd
from query_api.thrift.connection.ended_connections import LOG_EVERY_S, EndedConnections
from query_api.thrift.server import ThriftServer
from tests.query_api.http.read_client import EmptyDatabase
from tests.query_api.shards import MemoryShard, MemoryShards
from tests.query_api.thrift.serving import HOST, ScriptedMethods, serving, until


async def test_a_connection_that_is_ended_is_counted_and_its_reason_logged() -> None:
    with structlog.testing.capture_logs() as logged:
        async with serving() as here:
            client = await here.connect()
            client.send(b"GET / HTTP/1.1\r\n\r\n")
            assert await client.reply() is None
            await until(lambda: 'refused_total{reason="protocol"} 1.0' in here.metrics())
    [line] = [line for line in logged if line["event"] == "a client's connection was ended"]
    assert (line["log_level"], line["reason"]) == ("warning", "protocol")
    assert "not Thrift's protocol" in line["why"]


def test_a_reason_that_comes_again_and_again_is_logged_now_and_then() -> None:
    now_s = 0.0
    ended = EndedConnections(lambda: now_s)
    with structlog.testing.capture_logs() as logged:
        for _ in range(100):
            ended.note("protocol", "why", "client", "ann")
            ended.note("slow", "why", "client", "ann")
        now_s += LOG_EVERY_S
        ended.note("protocol", "why", "client", "ann")
    assert {line["user"] for line in logged} == {"ann"}
    counts = [(line["reason"], line["unlogged_before"]) for line in logged]
    assert counts == [("protocol", 0), ("slow", 0), ("protocol", 99)]


async def test_a_server_whose_port_is_taken_says_so_and_can_be_closed() -> None:
    backend = Backend(MemoryShards(MemoryShard()), EmptyDatabase(LogEnd(0, 5, [])))
    async with serving() as here:
        other = ThriftServer(ScriptedMethods(), backend)
        with pytest.raises(OSError, match=str(here.port)):
            await other.start(HOST, here.port)
        await other.close()
    await backend.close()
