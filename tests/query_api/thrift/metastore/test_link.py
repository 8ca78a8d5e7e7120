"""Calls of the worker's own over a connection that others may use, too."""

import asyncio
import struct
from typing import Any

import pytest

from hive.errors import UpstreamError
from query_api.thrift.metastore.link import CollectedReply, Reply, ask
from query_api.thrift.metastore.upstream import Introduction, Upstreams, UpstreamSettings
from query_api.thrift.protocol.scanner import Scanner
from tests.query_api.thrift.serving import Metastore, result, until
from tests.query_api.thrift.structs import message
from tests.support.socket_options import NOTICING, options_of


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


class Talkative(Metastore):
    """Says more than it is asked."""

    def _reply(self, scanner: Scanner, writer: asyncio.StreamWriter) -> bool:
        super()._reply(scanner, writer)
        if scanner.method == "get_two":
            super()._reply(scanner, writer)
        else:
            asyncio.get_running_loop().call_later(0.01, super()._reply, scanner, writer)
        return True


@pytest.mark.parametrize("method", ["get_two", "get_later"])
async def test_a_metastore_that_says_more_than_it_is_asked_is_left(method: str) -> None:
    metastore = Talkative()
    await metastore.start()
    link = await Upstreams(UpstreamSettings((metastore.address,))).open()
    assert (await ask(link, method, b"\0")).body == result(f"m:{method}")
    await until(lambda: not link.usable)
    # A client that takes replies from it may yet pause it.
    link.pause()
    link.resume()
    await metastore.stop()


async def test_a_reply_that_nobody_awaits_any_more_is_dropped() -> None:
    for ends in (CollectedReply.whole, lambda collected: CollectedReply.lost(collected, "gone")):
        collected = CollectedReply()
        collected.reply.cancel()
        ends(collected)
        assert collected.reply.cancelled()


async def test_metastores_that_want_logins_take_no_client_that_has_proved_nothing() -> None:
    class Login:
        principal = "metatide"

        def exchange(self, host: str) -> Any:
            raise AssertionError(host)

        def forget_tickets(self) -> None:
            pass

    settings = UpstreamSettings((("host", 1),), login=Login(), impersonates=True)
    client = Introduction("ann", "", None, b"", [], None)
    with pytest.raises(UpstreamError, match="only clients that have proved who they are"):
        await Upstreams(settings).open(client)


async def test_a_metastore_that_refuses_a_clients_settings_is_left_for_another() -> None:
    metastore = Metastore()
    metastore.kinds["setMetaConf"] = 3
    await metastore.start()
    upstreams = Upstreams(UpstreamSettings((metastore.address,)))
    client = Introduction("ann", "", None, b"", [message("setMetaConf", b"\0")], None)
    with pytest.raises(UpstreamError, match="it refused the client's session settings"):
        await upstreams.open(client)
    await until(lambda: not metastore._writers)
    await metastore.stop()


async def test_a_metastore_whose_host_has_vanished_is_noticed() -> None:
    metastore = Metastore()
    await metastore.start()
    link = await Upstreams(UpstreamSettings((metastore.address,))).open()
    try:
        assert link._transport is not None
        assert options_of(link._transport.get_extra_info("socket").fileno()) == NOTICING
    finally:
        link.close()
        await metastore.stop()
