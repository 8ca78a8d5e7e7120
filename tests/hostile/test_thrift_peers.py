"""Strangers among the workers, over Thrift."""

from pathlib import Path
from typing import Any

import pytest

from query_api.peers import Peers, SecretFile
from query_api.reasons import Reason
from query_api.thrift.call import Call, CallAnswer, Relay
from query_api.thrift.forward import FORWARDED
from query_api.thrift.metastore.link import Address
from query_api.thrift.protocol.wire import MessageType
from tests.query_api.thrift.forwarded import question
from tests.query_api.thrift.serving import HOST, Client, Metastore, answer, result, serving, until
from tests.query_api.thrift.structs import message, text

pytestmark = pytest.mark.anyio
COLD = text(1, "cold") + b"\0"


def not_ours(_: Call) -> Relay:
    return Relay(Reason.NOT_OWNED, shard=3)


def ours(call: Call) -> CallAnswer | Relay:
    return Relay(Reason.COLD) if call.arguments == COLD else answer("owner")


class Owner:
    """Tells who has a shard."""

    def __init__(self) -> None:
        self.port = 0

    @property
    def more(self) -> dict[str, Any]:
        return {"owner_of": self._of, "known_owner_of": lambda _: (HOST, self.port)}

    async def _of(self, _: int) -> Address | None:
        return HOST, self.port


def unproved(mine: Peers) -> dict[str, float]:
    """The answers that proved nothing, by protocol: from the start, so that an alert sees the
    first."""
    [metric] = mine.metrics.unproved.collect()
    return {
        sample.labels["protocol"]: sample.value
        for sample in metric.samples
        if sample.name.endswith("_total")
    }


def peers(path: Path | None, *, needs_secret: bool = True) -> Peers:
    secret = None if path is None else SecretFile(path)
    return Peers(secret, needs_secret=needs_secret)


async def body_of(client: Client, arguments: bytes = b"\0") -> bytes:
    reply = await client.call("get_table", arguments)
    assert reply is not None
    return reply.body


async def test_peers_answer_each_other(workers_secret: Path) -> None:
    owner, mine = Owner(), peers(workers_secret)
    async with (
        serving(more={"peers": peers(workers_secret), "host": HOST}, get_table=ours) as other,
        serving(Metastore(), more={**owner.more, "peers": mine}, get_table=not_ours) as here,
    ):
        owner.port = other.port
        client = await here.connect()
        for _ in range(3):
            assert await body_of(client) == result("owner")
            assert await body_of(client, COLD) == result("m:get_table")
            assert await body_of(client) == result("owner")
    assert unproved(mine) == {"http": 0, "thrift": 0}


@pytest.mark.parametrize("answers", ["other secret", "no secret", "other address", "made up"])
async def test_a_stranger_is_not_heard_and_not_asked_again(
    workers_secret: Path, answers: str
) -> None:
    owner, mine = Owner(), peers(workers_secret)
    stranger = workers_secret.with_name("other")
    stranger.write_text("6" * 64)
    theirs = {
        "other secret": peers(stranger),
        "no secret": peers(None, needs_secret=False),
        "other address": peers(workers_secret),
        "made up": peers(None),
    }[answers]
    metastore = Metastore("stranger")
    async with (
        serving(metastore, more={"peers": theirs, "host": "elsewhere"}, get_table=ours) as other,
        serving(Metastore(), more={**owner.more, "peers": mine}, get_table=not_ours) as here,
    ):
        owner.port = metastore.address[1] if answers == "made up" else other.port
        client = await here.connect()
        for _ in range(4):
            assert await body_of(client) == result("m:get_table")
    assert unproved(mine) == {"http": 0, "thrift": 1}


async def test_a_peer_that_turns_into_a_stranger_is_not_asked_again(workers_secret: Path) -> None:
    owner, mine, theirs = Owner(), peers(workers_secret), peers(workers_secret)
    stranger = workers_secret.with_name("other")
    stranger.write_text("6" * 64)
    async with (
        serving(more={"peers": theirs, "host": HOST}, get_table=ours) as other,
        serving(Metastore(), more={**owner.more, "peers": mine}, get_table=not_ours) as here,
    ):
        owner.port = other.port
        client = await here.connect()
        for _ in range(2):
            assert await body_of(client) == result("owner")
        theirs._secret = SecretFile(stranger)
        for _ in range(3):
            assert await body_of(client) == result("m:get_table")
    assert unproved(mine) == {"http": 0, "thrift": 1}


async def test_where_there_are_tokens_but_no_secret_nobody_is_asked() -> None:
    owner = Owner()
    more = {**owner.more, "peers": peers(None)}
    async with (
        serving(get_table=ours) as other,
        serving(Metastore(), more=more, get_table=not_ours) as here,
    ):
        owner.port = other.port
        assert await body_of(await here.connect()) == result("m:get_table")
        assert other.methods.calls == []


async def test_a_client_does_not_forward(workers_secret: Path) -> None:
    more = {"peers": peers(workers_secret), "host": HOST}
    async with serving(Metastore(), more=more, get_table=ours) as here:
        client = await here.connect()
        reply = await client.call(FORWARDED, question("get_table", b"\0"))
        assert reply is not None
        assert reply.kind == 3
        assert b"is for workers alone" in reply.body
        assert await client.reply() is None
        assert here.methods.calls == []


async def test_what_workers_call_is_never_sent_on(workers_secret: Path) -> None:
    metastore, more = Metastore(), {"peers": peers(workers_secret), "host": HOST}
    async with serving(metastore, more=more, get_table=ours) as here:
        client = await here.connect()
        client.send(message(FORWARDED, b"\0", kind=MessageType.ONEWAY))
        reply = await client.reply()
        assert reply is not None
        assert b"expected a call" in reply.body
        assert await client.reply() is None
        assert metastore.connections == 0
        line = 'metatide_thrift_refused_total{reason="protocol"} 1.0'
        await until(lambda: line in here.metrics())
