"""Forwards a call to the worker that holds a shard, by a method that only workers call."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
import structlog

from hive.errors import ThriftError, UpstreamError
from hive.thrift.binary import decode, encode
from hive.thrift.types import Struct, binary, i64, string
from query_api.positions import Position
from query_api.reasons import Reason, Source
from query_api.thrift.call import Call, CallAnswer, Client
from query_api.thrift.upstream import Address, Collected, Link, Upstreams, UpstreamSettings
from query_api.thrift.wire import Message, MessageType, header

FORWARDED: Final = "metatide.forward"
TIMEOUT_S: Final = 5.0
LINKS_MAX: Final = 16
"""The number of connections to each other worker."""
_CALL: Final = Struct(
    "forward_args",
    (1, "method", string),
    (2, "arguments", binary),
    (3, "epoch", i64),
    (4, "event", i64),
)
_ANSWER: Final = Struct(
    "forward_result",
    (1, "result", binary),
    (2, "source", string),
    (3, "reason", string),
    (4, "epoch", i64),
    (5, "event", i64),
)

log = structlog.get_logger(__name__)


def call_of(message: Message) -> Call:
    """The call that another worker forwards."""
    arguments = decode(_CALL, message.body)
    try:
        floor = Position(arguments["epoch"], arguments["event"]) if "epoch" in arguments else None
        return Call(arguments["method"], arguments["arguments"], Client(), floor)
    except KeyError as error:
        raise ThriftError(f"a forwarded call lacks its {error}") from error


def told(message: Message, answer: CallAnswer, result: bytes) -> bytes:
    """The reply with an answer."""
    return _reply(
        message,
        {
            "result": result,
            "source": answer.source,
            "reason": answer.reason,
            "epoch": answer.position.epoch,
            "event": answer.position.event,
        },
    )


def refused(message: Message) -> bytes:
    """The reply without an answer."""
    return _reply(message, {})


def _reply(message: Message, fields: Mapping[str, Any]) -> bytes:
    return header(MessageType.REPLY, message.method, message.sequence) + encode(_ANSWER, fields)


class _Peer(msgspec.Struct, eq=False):
    upstreams: Upstreams
    idle: list[Link]
    links: int = 0


class Peers:
    """The Thrift servers of the other workers."""

    def __init__(
        self, owner_of: Callable[[int], Awaitable[Address | None]], settings: UpstreamSettings
    ) -> None:
        """`settings` tells how to talk to all of them; it names no addresses."""
        self._owner_of = owner_of
        self._settings = settings
        self._peers: dict[Address, _Peer] = {}

    async def ask(self, shard: int, call: Call) -> CallAnswer | None:
        """The owner's answer; None if it has none, or if the owner is unknown."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                address = await self._owner_of(shard)
                if address is None:
                    return None
                return await self._ask(address, call)
        except (UpstreamError, ThriftError, TimeoutError, OSError) as error:
            log.warning("a shard's owner does not answer", shard=shard, error=str(error))
            return None

    def close(self) -> None:
        for peer in self._peers.values():
            for link in peer.idle:
                link.close()
        self._peers.clear()

    async def _ask(self, address: Address, call: Call) -> CallAnswer | None:
        peer = self._peers.get(address)
        if peer is None:
            settings = msgspec.structs.replace(self._settings, addresses=(address,))
            peer = self._peers[address] = _Peer(Upstreams(settings), [])
        link = await _link(peer)
        if link is None:
            return None
        try:
            taker = Collected()
            link.call(_message(call), taker)
            reply = await taker.reply
            answer = _answer(link, reply)
        except BaseException:
            peer.links -= 1
            link.close()
            raise
        peer.idle.append(link)
        return answer


async def _link(peer: _Peer) -> Link | None:
    while peer.idle:
        link = peer.idle.pop()
        if link.usable:
            return link
        peer.links -= 1
    if peer.links >= LINKS_MAX:
        return None
    peer.links += 1
    try:
        return await peer.upstreams.open()
    except BaseException:
        peer.links -= 1
        raise


def _message(call: Call) -> bytes:
    fields: dict[str, Any] = {"method": call.method, "arguments": call.arguments}
    if call.min_position is not None:
        fields |= {"epoch": call.min_position.epoch, "event": call.min_position.event}
    return header(MessageType.CALL, FORWARDED, b"\0\0\0\0") + encode(_CALL, fields)


def _answer(link: Link, reply: bytes) -> CallAnswer | None:
    if link.reply_kind != MessageType.REPLY:
        raise UpstreamError("it doesn't accept forwarded calls")
    answer = decode(_ANSWER, reply[link.reply_body_at :])
    if "result" not in answer:
        return None
    try:
        source, reason = Source(answer["source"]), Reason(answer["reason"])
        position = Position(answer["epoch"], answer["event"])
    except (KeyError, ValueError) as error:
        raise UpstreamError(f"its answer can't be read: {error}") from error
    return CallAnswer(answer["result"], source, reason, position)
