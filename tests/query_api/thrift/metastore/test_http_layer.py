"""Metastores that speak Thrift over HTTP: a real one, and responses in all pieces."""

import asyncio
import gc
import getpass
import re
import weakref
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import ThriftError, UpstreamError
from metatide.config.upstream import Upstream
from metatide.config.values import ThriftUrl, ThriftUrls
from metatide.doctor import Status, Target
from metatide.doctor import metastore as checks
from metatide.metastores import upstream_settings
from query_api.thrift.metastore.http_layer import HEAD_BYTES_MAX, HttpLayer
from query_api.thrift.metastore.upstream import UpstreamSettings
from tests.query_api.thrift.serving import result, serving, until
from tests.query_api.thrift.structs import text
from tests.support.hive.metastore import MetastoreFactory
from tests.support.hive.secure_metastore import STORAGE_BASED

HTTP = {
    "metastore.server.thrift.transport.mode": "http",
    # So it is named at the server, too.
    "metastore.client.thrift.http.path": "calls",
}
LONG = "x" * 300_000
OTHER_LONG = "y" * 100_000
ADDRESS = "hms.example.com", 9083


def layer(user: str = "ann") -> HttpLayer:
    return HttpLayer(ADDRESS, "/metastore", user)


def test_a_call_is_the_body_of_a_request() -> None:
    assert layer("änn").framed(b"call") == (
        b"POST /metastore HTTP/1.1\r\n"
        b"host: hms.example.com:9083\r\n"
        b"x-actor-username: \xc3\xa4nn\r\n"
        b"accept: application/x-thrift\r\n"
        b"content-type: application/x-thrift\r\n"
        b"content-length: 4\r\n\r\ncall"
    )


def test_a_token_goes_with_each_request_as_it_is_then() -> None:
    tokens = iter((b"Bearer a.b.c", b"Bearer d.e.f"))
    http = HttpLayer(ADDRESS, "/metastore", "ann", lambda: next(tokens))
    for expected in (b"Bearer a.b.c", b"Bearer d.e.f"):
        request = http.framed(b"call")
        assert b"\r\nauthorization: " + expected + b"\r\n" in request
        assert b"x-actor-username" not in request


@pytest.mark.parametrize("user", ["a\r\nx: y", "a\nb", "a\0b"])
def test_no_users_name_ends_its_header(user: str) -> None:
    with pytest.raises(UpstreamError, match="can't be sent"):
        layer(user)


WHOLE = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\n"


@given(st.lists(st.sampled_from([WHOLE, CHUNKED]), min_size=1, max_size=3), st.data())
def test_replies_are_the_same_in_whatever_pieces_they_come(
    responses: list[bytes], data: st.DataObject
) -> None:
    received, http = b"".join(responses), layer()
    cuts = data.draw(st.lists(st.integers(0, len(received)), max_size=6).map(sorted))
    pieces = [received[a:b] for a, b in zip([0, *cuts], [*cuts, len(received)], strict=True)]
    body = b"".join(http.feed(piece) for piece in pieces if piece)
    assert body == b"".join(b"abc" if one is WHOLE else b"def" for one in responses)


@pytest.mark.parametrize(
    ("received", "why"),
    [
        (b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno", "it answers 401: 'no'"),
        (b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", "it answers 404"),
        (b"\x80\1\0\2\0\0\0\1a", "no response of HTTP"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * HEAD_BYTES_MAX, "the head of a response"),
    ],
)
def test_any_other_response_is_an_error(received: bytes, why: str) -> None:
    http = layer()
    with pytest.raises((ThriftError, UpstreamError), match=why):
        http.feed(received)


def test_a_layer_is_gone_as_soon_as_nobody_uses_it() -> None:
    gc.disable()
    http = layer()
    http.feed(WHOLE)
    gone = weakref.ref(http)
    del http
    gc.enable()
    assert gone() is None


def settings(url: str, path: str = "calls") -> UpstreamSettings:
    return upstream_settings(Upstream(ThriftUrls(url), http_path=path), None)


@pytest.mark.hive
async def test_calls_are_relayed_to_a_metastore_over_http(
    metastore_factory: MetastoreFactory,
) -> None:
    running = metastore_factory(properties={**HTTP, **STORAGE_BASED})
    (url,) = running.addresses
    async with serving(upstream=settings(url)) as here:
        client = await here.connect()
        for value in (LONG, "", OTHER_LONG):
            call = text(1, "hive.none") + text(2, value) + b"\0"
            reply = await client.call("get_config_value", call)
            assert reply is not None
            assert reply.body == result(value)
        vault = text(1, "vault") + b"\0"
        other = await here.connect()
        for user in (getpass.getuser(), "ann"):
            ugi = text(1, user) + b"\x0f\0\2\x0b\0\0\0\0\0"
            assert await other.call("set_ugi", ugi) is not None
            if user != "ann":
                made = await other.call("create_database", b"\x0c\0\1" + vault + b"\0")
                assert made is not None
                assert made.body == b"\0"
            reply = await other.call("get_database", vault)
            assert reply is not None
            if user == "ann":
                assert b"user=ann" in reply.body
            else:
                location = re.search(rb"file:([\w/.-]+vault\.db)", reply.body)
                assert location is not None
                Path(location[1].decode()).chmod(0o700)
        # Settings are asked for on a connection of the worker itself.
        assert here.server._hub.links.count == 1
    async with serving(upstream=settings(url, "elsewhere")) as here:
        client = await here.connect()
        assert await client.call("get_all_databases") is None
        await until(lambda: 'refused_total{reason="upstream"} 1.0' in here.metrics())
    target = Target(None, "metatide", 16, None, Upstream(ThriftUrls(url), http_path="calls"))
    finding = await asyncio.to_thread(checks.reachable, target)
    assert finding.status is Status.OK
    assert finding.detail == "{}:{}".format(*ThriftUrl(url).address)
