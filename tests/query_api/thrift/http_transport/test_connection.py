"""Calls in requests of HTTP: how they are answered, and which are refused."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import repeat
from typing import Any

import pytest
from structlog.testing import capture_logs

from hive.errors import ClosedStoreError
from metatide.config.values import ThriftUrl
from query_api.in_flight import Budget
from query_api.latest.log_end import LogEnd
from query_api.own_hosts import OwnHosts
from query_api.positions import Position
from query_api.reasons import Reason, Source
from query_api.targets import Target, TargetKind
from query_api.thrift.call import Call, CallAnswer
from query_api.thrift.connection.ended_connections import ENDED
from query_api.thrift.http_transport.connection import DISCARDED_BYTES_MAX, HEAD_BYTES_MAX
from query_api.thrift.http_transport.settings import HttpSettings
from query_api.thrift.metastore.client_identity import SET_UGI
from query_api.thrift.metastore.upstream import UpstreamSettings
from query_api.thrift.settings import ThriftSettings
from tests.query_api.shards import ORDERS, moment
from tests.query_api.thrift.http_transport.clients import HEAD, call, post, serving_http
from tests.query_api.thrift.serving import HOST, Metastore, answer, result, until
from tests.query_api.thrift.structs import compacted, message, text
from tests.support.hive.client import HiveClient
from tests.support.hive.java import hive_java
from tests.support.hive.metastore import Instances

LARGE = "x" * 3_000_000


async def streamed() -> AsyncIterator[bytes]:
    for _ in range(20):
        await asyncio.sleep(0)
        yield bytes(10_000)


METHODS: dict[str, Any] = {
    "get_table": lambda _: answer("c"),
    "get_large": lambda _: answer(LARGE),
    "get_stream": lambda _: CallAnswer(streamed(), Source.CACHE, Reason.FRESH, Position(0, 1)),
    "get_pieces": lambda _: answer([b"ab", b"cd", b"ef"]),
}


def reply(method: str, body: bytes) -> bytes:
    return message(method, body, kind=2)


async def test_calls_of_a_connection_are_answered_one_after_the_other() -> None:
    async with serving_http(**METHODS) as here:
        client = await here.connect()
        for method, body in (
            ("get_table", result("c")),
            ("get_large", result(LARGE)),
            ("get_stream", bytes(200_000)),
            ("get_pieces", b"abcdef"),
        ) * 2:
            said = await client.ask(call(method))
            assert (said.status, said.keeps_open) == (200, True)
            assert said.header("content-type") == "application/x-thrift"
            assert said.body == reply(method, body)
        assert here.bytes_in_flight == 0
        assert "metatide_thrift_connections 1.0" in here.metrics()


async def test_the_registered_type_of_the_binary_protocol_is_served() -> None:
    async with serving_http(**METHODS) as here:
        registered = {"content-type": "application/vnd.apache.thrift.binary; charset=binary"}
        said = await here.ask(call("get_table", headers=registered))
        assert (said.status, said.body) == (200, reply("get_table", result("c")))


async def test_a_reply_in_one_piece_has_a_length_and_others_have_chunks() -> None:
    async with serving_http(**METHODS) as here:
        client = await here.connect()
        short = await client.ask(call("get_table"))
        assert short.header("content-length") == str(len(short.body))
        assert (await client.ask(call("get_pieces"))).header("transfer-encoding") == "chunked"


@pytest.mark.parametrize("chunk_count", [0, 1, 1000])
async def test_an_answer_that_breaks_off_is_no_whole_response(chunk_count: int) -> None:
    def torn() -> Iterator[bytes]:
        yield from repeat(b"x" * 30_000, chunk_count)
        raise ClosedStoreError("the store is closed")

    async with serving_http(get_table=lambda _: answer(torn())) as here:
        client = await here.connect()
        if chunk_count:
            with pytest.raises((AssertionError, ConnectionResetError)):
                await client.ask(call("get_table"))
        else:
            assert (await client.ask(call("get_table"))).status == 500


async def test_a_request_may_come_byte_by_byte_and_in_chunks() -> None:
    async with serving_http(**METHODS) as here:
        client = await here.connect()
        for byte in call("get_table"):
            client.writer.write(bytes((byte,)))
            await asyncio.sleep(0)
        assert (await client.answer()).body == reply("get_table", result("c"))
        body = message("get_table", text(1, "y" * 5000) + b"\0")
        head = f"{HEAD}transfer-encoding: chunked\r\n\r\n".encode()
        chunks = (b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:9], body[9:77], body[77:]))
        said = await client.ask(head + b"".join(chunks) + b"0\r\n\r\n")
        assert said.body == reply("get_table", result("c"))


async def test_the_compact_protocol_is_answered_in_it_in_however_many_pieces() -> None:
    pieces = result("pieces")
    async with serving_http(get_table=lambda _: answer([pieces[:4], pieces[4:]])) as here:
        said = await here.ask(post(compacted(message("get_table", b"\0"))))
        assert (said.status, said.body) == (200, compacted(reply("get_table", pieces)))


async def test_what_was_kept_for_one_transport_is_answered_by_the_other() -> None:
    def kept(_: Call) -> CallAnswer:
        return answer("kept", moment=moment(here.running.server._hub.views))

    async with serving_http(get_table=kept) as here:
        binary, client = await here.running.connect(), await here.connect()
        assert await binary.call("get_table") is not None
        for sequence in (1, 2):
            request = post(message("get_table", b"\0", sequence=sequence))
            expected = message("get_table", result("kept"), kind=2, sequence=sequence)
            assert (await client.ask(request)).body == expected
        assert len(here.running.methods.calls) == 1


async def test_what_is_kept_is_compared_with_the_log_each_time() -> None:
    target = Target(TargetKind.TABLE, ORDERS)

    def kept(_: Call) -> CallAnswer:
        views = here.running.server._hub.views
        return answer("kept", moment=moment(views), to_confirm=(target,))

    async with serving_http(get_table=kept) as here:
        client, database = await here.connect(), here.running.database
        for log, calls in ((LogEnd(0, 0, []), 1), (LogEnd(0, 3, []), 3)):
            database.log = log
            for _ in range(2):
                said = await client.ask(call("get_table"))
                assert said.body == reply("get_table", result("kept"))
            assert len(here.running.methods.calls) == calls


async def test_a_user_on_a_connection_sees_its_own_writes() -> None:
    async with serving_http(Metastore(), **METHODS) as here:
        client = await here.connect()
        ann, bob = {"x-actor-username": "ann"}, {"x-actor-username": "bob"}
        await client.ask(call("alter_table", headers=ann))
        for headers in (ann, bob):
            assert (await client.ask(call("get_table", headers=headers))).status == 200
        least = [one.min_position for one in here.running.methods.calls]
        assert least == [Position(0, 5), None]


async def test_a_client_that_waits_to_continue_is_let() -> None:
    async with serving_http(**METHODS) as here:
        client = await here.connect()
        request = call("get_table", headers={"expect": "100-continue"})
        head, body = request.split(b"\r\n\r\n", 1)
        client.writer.write(head + b"\r\n\r\n")
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert (await client.ask(body)).status == 200


async def test_older_clients_get_no_chunks() -> None:
    async with serving_http(**METHODS) as here:
        client = await here.connect()
        client.writer.write(call("get_pieces").replace(b"HTTP/1.1", b"HTTP/1.0"))
        head, body = (await client.reader.read()).split(b"\r\n\r\n", 1)
        assert b"chunked" not in head
        assert body == reply("get_pieces", b"abcdef")


async def test_a_request_before_the_last_answer_ends_the_connection_after_it() -> None:
    async with serving_http(**METHODS) as here:
        client = await here.connect()
        said = await client.ask(call("get_table") * 2)
        assert (said.status, said.keeps_open) == (200, False)
        assert await client.is_ended()
        assert len(here.running.methods.calls) == 1


async def test_metastores_are_told_who_the_client_says_that_it_is() -> None:
    metastore = Metastore()
    async with serving_http(metastore, **METHODS) as here:
        client = await here.connect()
        for user in ("ann", "ann", "bob"):
            said = await client.ask(call("create_database", headers={"x-actor-username": user}))
            assert said.body == reply("create_database", result("m:create_database"))
        assert metastore.heard == [
            *(SET_UGI, "create_database", "create_database"),
            *(SET_UGI, "create_database"),
        ]
        assert b"ann" in metastore.calls[0]
        # Hive's clients send it with every request.
        await client.ask(call("get_table").replace(b"x-actor-username", b"X-Actor-UserName"))
        assert here.users() == ["ann"]


async def test_one_way_calls_are_refused() -> None:
    async with serving_http(Metastore()) as here:
        said = await here.ask(post(message("heartbeat", b"\0", kind=4)))
        assert (said.status, said.keeps_open) == (200, False)
        assert b"not a message of the type ONEWAY" in said.body
        assert here.running.metastores[0].connections == 0


async def test_a_goodbye_has_an_empty_reply() -> None:
    async with serving_http(Metastore()) as here:
        said = await here.ask(post(message("shutdown", b"\0", kind=4)))
        assert (said.status, said.keeps_open, said.body) == (200, False, b"")
        assert here.running.metastores[0].connections == 0
        assert "refused_total{" not in here.running.metrics()


async def test_a_metastore_that_hangs_up_in_a_write_is_told_by_the_status() -> None:
    metastore = Metastore()
    metastore.replies["create_database"] = None
    async with serving_http(metastore) as here:
        client = await here.connect()
        said = await client.ask(call("create_database"))
        assert said.status == 502
        assert b"the metastore's reply is incomplete" in said.body
        assert await client.is_ended()
        await until(lambda: 'refused_total{reason="upstream"} 1.0' in here.metrics())


@pytest.mark.parametrize("more", [message("get_table", b"\0"), b"no call"])
async def test_a_body_with_more_than_a_call_gets_an_exception_before_any_reply(more: bytes) -> None:
    async with serving_http(**METHODS) as here:
        said = await here.ask(post(message("get_pieces", b"\0") + more))
        assert (said.status, said.keeps_open) == (200, False)
        assert said.body.startswith(message("get_pieces", b"", kind=3)[:-4])
        assert b"one whole call" in said.body
        assert "get_pieces" not in [call.method for call in here.running.methods.calls]


async def test_without_a_metastore_a_call_gets_the_exception_that_says_so() -> None:
    async with serving_http() as here:
        said = await here.ask(call("create_database"))
        assert said.status == 200
        assert b"upstream.url" in said.body


@pytest.mark.parametrize(
    ("request_bytes", "status", "why"),
    [
        (call("get_table").replace(b"POST", b"GET"), 405, "by POST"),
        (post(b"\0", path="/"), 404, "are sent to /metastore"),
        (post(b"\0", path="/metastores"), 404, "are sent to /metastore"),
        (post(b"\0", path="//[/"), 404, "are sent to /metastore"),
        (post(b"\0", {"connection": "upgrade", "upgrade": "h2c"}), 400, "calls by POST"),
        (post(b""), 400, "has no body"),
        (post(message("get_table", b"\0")[:-1]), 400, "one whole call"),
        (post(b"\x01\x00\x00\x00\x05PLAIN"), 400, ""),
        (post(b"no call"), 400, ""),
        (post(b"\0", {"content-length": "9999999"}), 413, "at most 1000000 bytes"),
        (post(b"\0", {"x-actor-username": "y" * 300}), 400, "can't be the name of a user"),
        (post(b"\0", {"x-actor-username": ""}), 401, "must name the user"),
        (post(b"\0", {"content-type": "text/plain"}), 415, "content-type: application/x-thrift"),
        (
            post(b"\0", {"content-type": "application/vnd.apache.thrift.compact"}),
            *(415, "content-type: application/x-thrift"),
        ),
        (post(b"\0", {"content-type": ""}), 415, "content-type: application/x-thrift"),
        (post(b"\0", {"host": "a.example"}), 403, "'a.example' isn't known as a name"),
        (post(b"\0", {"host": "a"}), 403, "list the name in reads.hosts, or have clients log in"),
        (
            b"POST /metastore HTTP/1.1\r\nhost: localhost\r\nhost: a.example\r\n\r\n",
            *(400, "host is sent more than once"),
        ),
        (
            b"POST /metastore HTTP/1.1\r\nauthorization: a\r\nauthorization: b\r\n\r\n",
            *(400, "authorization is sent more than once"),
        ),
        (b"no request at all\r\n\r\n", 400, "no request of HTTP"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, ""),
        (message("get_table", b"\0"), 400, "no request of HTTP"),
        (post(b"\0", {"x": "y" * HEAD_BYTES_MAX}), 431, f"more than {HEAD_BYTES_MAX} bytes"),
    ],
)
async def test_what_is_no_call_is_refused_with_the_reason(
    request_bytes: bytes, status: int, why: str
) -> None:
    settings = ThriftSettings(message_bytes_max=1_000_000)
    async with serving_http(settings=settings, **METHODS) as here:
        said = await here.ask(request_bytes)
        assert said.status == status
        assert why in said.body.decode()
        assert not here.running.methods.calls
        await until(lambda: 'refused_total{reason="protocol"} 1.0' in here.metrics())
        assert here.bytes_in_flight == 0


@pytest.mark.parametrize("host", ["Cache.example.com:9084", "127.0.0.1", "[::1]:9084"])
async def test_a_server_is_asked_by_its_own_names(host: str) -> None:
    settings = ThriftSettings(http=HttpSettings(own_hosts=OwnHosts(("cache.example.com",))))
    async with serving_http(settings=settings, **METHODS) as here:
        headers = {"host": host, "content-type": "Application/X-Thrift; charset=utf-8"}
        assert (await here.ask(call("get_table", headers=headers))).status == 200


async def test_after_a_refused_request_the_connection_goes_on() -> None:
    async with serving_http(**METHODS) as here:
        client = await here.connect()
        for _ in range(2):
            refused = await client.ask(post(message("get_table", b"\0"), path="/elsewhere"))
            assert (refused.status, refused.keeps_open) == (404, True)
            partial = await client.ask(post(message("get_table", b"\0")[:-1]))
            assert (partial.status, partial.keeps_open) == (400, True)
            assert (await client.ask(call("get_table"))).status == 200


async def test_after_another_method_than_post_the_connection_ends() -> None:
    async with serving_http(**METHODS) as here:
        client = await here.connect()
        said = await client.ask(call("get_table").replace(b"POST", b"PUT"))
        assert (said.status, said.keeps_open) == (405, False)
        assert await client.is_ended()


async def test_a_body_without_a_length_is_limited_too() -> None:
    settings = ThriftSettings(message_bytes_max=100_000)
    async with serving_http(settings=settings) as here:
        client = await here.connect()
        head = f"{HEAD}transfer-encoding: chunked\r\n\r\n".encode()
        client.writer.write(head + b"%x\r\n" % 100_001 + bytes(100_001))
        assert (await client.answer()).status == 413
        client.writer.write(b"\r\n%x\r\n" % DISCARDED_BYTES_MAX + bytes(DISCARDED_BYTES_MAX))
        assert await client.is_ended()
        assert here.bytes_in_flight == 0


async def test_a_head_or_a_trailer_that_never_ends_is_refused() -> None:
    endless = f"{HEAD}x: ".encode()
    trailers = f"{HEAD}transfer-encoding: chunked\r\n\r\n0\r\nx: ".encode()
    for begin in (endless, trailers):
        async with serving_http() as here:
            client = await here.connect()
            client.writer.write(begin)
            await asyncio.sleep(0.05)
            client.writer.write(b"y" * (HEAD_BYTES_MAX + 1))
            assert (await client.answer()).status == 431
            assert await client.is_ended()


@pytest.mark.parametrize(
    ("begin", "status"),
    [(b"", None), (b"POST /metastore HTTP/1.1\r\nx: ", 408), (call("get_table")[:-1], 408)],
)
async def test_a_client_that_never_ends_its_request_is_ended(
    begin: bytes, status: int | None
) -> None:
    settings = ThriftSettings(message_timeout_s=0.3)
    async with serving_http(settings=settings, **METHODS) as here:
        client = await here.connect()
        client.writer.write(begin)
        if status is not None:
            assert (await client.answer()).status == status
        assert await client.is_ended()
        await until(lambda: 'refused_total{reason="slow"} 1.0' in here.metrics())
        assert here.bytes_in_flight == 0


async def test_between_two_requests_a_client_may_wait() -> None:
    settings = ThriftSettings(message_timeout_s=0.2)
    async with serving_http(settings=settings, **METHODS) as here:
        client = await here.connect()
        await client.ask(call("get_table"))
        (connection,) = here.running.server._connections
        connection.check(float("inf"))
        assert (await client.ask(call("get_table"))).status == 200


async def test_a_body_is_in_flight_and_ends_the_connection_that_has_most() -> None:
    async with serving_http(in_flight=Budget(100_000), **METHODS) as here:
        client = await here.connect()
        client.writer.write(post(b"", {"content-length": "300000"}) + bytes(90_000))
        await until(lambda: here.bytes_in_flight == 90_000)
        client.writer.write(bytes(20_000))
        said = await client.answer()
        assert said.status == 503
        assert b"too many bytes are in flight" in said.body
        await until(lambda: 'refused_total{reason="limit"} 1.0' in here.metrics())
        assert here.bytes_in_flight == 0


async def test_there_are_as_many_connections_as_are_allowed() -> None:
    async with serving_http(settings=ThriftSettings(connections_max=1), **METHODS) as here:
        client = await here.connect()
        assert (await client.ask(call("get_table"))).status == 200
        assert await (await here.connect()).is_ended()
        assert (await client.ask(call("get_table"))).status == 200


@pytest.mark.hive
@pytest.mark.timeout(600)
async def test_hives_own_client_is_answered_and_relayed(metastore: Instances) -> None:
    upstream = UpstreamSettings((ThriftUrl(metastore.addresses[0]).address,))
    properties = {
        "metastore.client.thrift.transport.mode": "http",
        "metastore.client.auth.mode": "NOSASL",
        "metastore.client.plain.username": "ann",
    }

    def use(address: str) -> list[str]:
        with hive_java() as java:
            client = HiveClient(java, address, properties)
            databases = [*client.client.getAllDatabases()]
            for _ in range(3):
                client.client.getConfigValue("metastore.catalog.default", "")
            client.close()
            return databases

    with capture_logs() as entries:
        async with serving_http(upstream=upstream, settings=ThriftSettings(slow_ms=1)) as here:
            databases = await asyncio.to_thread(use, f"thrift://{HOST}:{here.port}")
    assert "default" in databases
    assert {entry["user"] for entry in entries if entry["event"] == "slow call"} == {"ann"}
    assert not [entry for entry in entries if entry["event"] == ENDED]
