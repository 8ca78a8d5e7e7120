"""Forwards a call to a shard's owner, by a method that only workers call."""

import asyncio
from collections.abc import Awaitable, Callable, Container, Mapping
from hmac import compare_digest
from typing import Any, Final, NamedTuple

import msgspec
import structlog

from hive.errors import UNDECODABLE, ThriftError, UnprovedError, UpstreamError
from hive.names import TableName
from hive.thrift.binary import decode, encode
from hive.thrift.types import Struct, binary, i64, string
from query_api import owner_moment
from query_api.peers import Peers, Question
from query_api.positions import Position
from query_api.reasons import Reason, Source
from query_api.targets import Target
from query_api.thrift.call import Call, CallAnswer, Client
from query_api.thrift.metastore.link import Address, Link, Reply, ask, host_port
from query_api.thrift.metastore.upstream import Upstreams, UpstreamSettings
from query_api.thrift.protocol.scanner import READ_STEPS_MAX, STEPS_MAX, Scanner
from query_api.thrift.protocol.wire import Message, MessageType, header

FORWARDED: Final = "metatide.forward"
TIMEOUT_S: Final = 5.0
LINKS_MAX: Final = 16
"""The number of connections to each other worker."""
_NO_SEQUENCE: Final = b"\0\0\0\0"
_CALL: Final = Struct(
    "forward_args",
    (1, "method", string),
    (2, "arguments", binary),
    (3, "epoch", i64),
    (4, "event", i64),
    (5, "time_s", i64),
    (6, "nonce", binary),
    (7, "proof", binary),
    (8, "age_ms_max", i64),
)
_ANSWER: Final = Struct(
    "forward_result",
    (1, "result", binary),
    (2, "source", string),
    (3, "reason", string),
    (4, "epoch", i64),
    (5, "event", i64),
    (6, "proof", binary),
    (7, "moment", binary),
    (8, "targets", binary),
    (9, "mark", i64),
)
_PROTOCOL: Final = "thrift"
_decode_targets: Final = msgspec.msgpack.Decoder(tuple[Target, ...]).decode
_OF_PROOF: Final = frozenset(("time_s", "nonce", "proof"))

log = structlog.get_logger(__name__)


class ForwardedCall(NamedTuple):
    """A call that another worker forwards, and the nonce for the proof of the answer."""

    call: Call
    nonce: bytes


def call_of(message: Message, peers: Peers, address: str) -> ForwardedCall:
    """The call that another worker forwards to this one, at this address. Raises UnprovedError if
    it doesn't prove the workers' secret, if there is one.
    """
    fields = decode(_CALL, message.body)
    proof = (fields.get("time_s", 0), fields.get("nonce", b""), fields.get("proof", b""))
    question = Question(*proof)
    if peers.have_secret and not peers.is_asked(question, address, _parts(fields)):
        raise UnprovedError(f"{FORWARDED} is for workers alone, and this call doesn't prove it")
    try:
        floor = Position(fields["epoch"], fields["event"]) if "epoch" in fields else None
        age_ms_max = fields.get("age_ms_max")
        call = Call(fields["method"], fields["arguments"], Client(), floor, age_ms_max)
    except KeyError as error:
        raise ThriftError(f"a forwarded call lacks its {error}") from error
    whole = header(MessageType.CALL, call.method, _NO_SEQUENCE) + call.arguments
    scanner = Scanner(len(whole), STEPS_MAX)
    if scanner.feed(whole) != len(whole) or scanner.steps > READ_STEPS_MAX:
        raise ThriftError("a forwarded call can't be read here")
    return ForwardedCall(call, question.nonce)


def answer_fields(
    answer: CallAnswer, result: bytes, former_names: Container[TableName], *, is_guarded: bool
) -> Mapping[str, Any]:
    """The reply with an answer, with what it depends on, and, if reads are guarded, with what it
    tells of."""
    fields: dict[str, Any] = {
        "result": result,
        "source": answer.source,
        "reason": answer.reason,
        "epoch": answer.position.epoch,
        "event": answer.position.event,
    }
    if answer.moment is not None:
        fields["mark"] = answer.moment.mark
        moment = owner_moment.encode(answer.moment, former_names)
        if moment is not None:
            fields["moment"] = moment
    if is_guarded and answer.targets is not None:
        targets = msgspec.msgpack.encode(answer.targets)
        if len(targets) <= owner_moment.BYTES_MAX:
            fields["targets"] = targets
    return fields


REFUSED: Final[Mapping[str, Any]] = {}
"""The reply without an answer."""


def reply(message: Message, fields: Mapping[str, Any], peers: Peers, nonce: bytes) -> bytes:
    """The message of a reply, with its proof."""
    if peers.have_secret:
        fields = {**fields, "proof": peers.answer(nonce, _parts(fields))}
    return header(MessageType.REPLY, message.method, message.sequence) + encode(_ANSWER, fields)


def _parts(fields: Mapping[str, Any]) -> list[bytes]:
    """All that a message says, beside its own proof."""
    parts = [_PROTOCOL.encode()]
    for name in sorted(fields.keys() - _OF_PROOF):
        value = fields[name]
        parts += name.encode(), value if isinstance(value, bytes) else str(value).encode()
    return parts


class _Server(msgspec.Struct, eq=False):
    upstreams: Upstreams
    idle: list[Link]
    links: int = 0


class ThriftPeers:
    """The Thrift servers of the other workers."""

    def __init__(
        self,
        owner_of: Callable[[int], Awaitable[Address | None]],
        settings: UpstreamSettings,
        peers: Peers,
    ) -> None:
        """`settings` tells how to talk to all of them; it names no addresses."""
        self.peers = peers
        self.own_address = ""
        """The HOST:PORT by which the others ask this worker."""
        self._owner_of = owner_of
        self._settings = settings
        self._servers: dict[Address, _Server] = {}

    async def ask(self, shard: int, call: Call) -> CallAnswer | None:
        """The owner's answer; None if it has none, or if the owner is unknown or not trusted."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                address = await self._owner_of(shard)
                if address is None or not self.peers.may_ask(host_port(address)):
                    return None
                return await self._ask(address, shard, call)
        except UnprovedError:
            assert address is not None
            self.peers.distrust(host_port(address), _PROTOCOL)
        except (UpstreamError, ThriftError, TimeoutError, OSError) as error:
            log.warning("a shard's owner does not answer", shard=shard, error=str(error))
        return None

    def close(self) -> None:
        for server in self._servers.values():
            for link in server.idle:
                link.close()
        self._servers.clear()

    async def _ask(self, address: Address, shard: int, call: Call) -> CallAnswer | None:
        server = self._servers.get(address)
        if server is None:
            settings = msgspec.structs.replace(self._settings, addresses=(address,))
            server = self._servers[address] = _Server(Upstreams(settings), [])
        link = await _link(server)
        if link is None:
            return None
        try:
            arguments, nonce = self._arguments(address, call)
            answer = self._answer(await ask(link, FORWARDED, arguments), nonce, shard)
        except BaseException:
            server.links -= 1
            link.close()
            raise
        server.idle.append(link)
        return answer

    def _arguments(self, address: Address, call: Call) -> tuple[bytes, bytes | None]:
        """What forwards a call, and its nonce; None without a secret."""
        fields: dict[str, Any] = {"method": call.method, "arguments": call.arguments}
        if call.min_position is not None:
            fields |= {"epoch": call.min_position.epoch, "event": call.min_position.event}
        if call.age_ms_max is not None:
            fields["age_ms_max"] = call.age_ms_max
        question = self.peers.question(host_port(address), _parts(fields))
        if question is not None:
            fields |= msgspec.structs.asdict(question)
        return encode(_CALL, fields), None if question is None else question.nonce

    def _answer(self, reply: Reply, nonce: bytes | None, shard: int) -> CallAnswer | None:
        if reply.kind != MessageType.REPLY:
            kind = UpstreamError if nonce is None else UnprovedError
            raise kind("it doesn't accept forwarded calls")
        fields = decode(_ANSWER, reply.body)
        if nonce is not None:
            proof = self.peers.answer(nonce, _parts(fields))
            if not compare_digest(proof, fields.get("proof", b"")):
                raise UnprovedError("its answer proves nothing")
        if "result" not in fields:
            return None
        try:
            source, reason = Source(fields["source"]), Reason(fields["reason"])
            position = Position(fields["epoch"], fields["event"])
        except (KeyError, ValueError) as error:
            raise UpstreamError(f"its answer can't be read: {error}") from error
        answer = CallAnswer(fields["result"], source, reason, position, mark=fields.get("mark", 0))
        if "targets" in fields:
            try:
                answer.targets = _decode_targets(fields["targets"])
            except UNDECODABLE as error:
                raise UpstreamError(f"its answer can't be read: {error}") from error
        # What nobody has proved isn't kept for others.
        if nonce is not None and "moment" in fields:
            answer.moment = owner_moment.decode(fields["moment"], shard)
            answer.to_confirm = () if answer.moment is None else answer.moment.targets
        return answer


async def _link(server: _Server) -> Link | None:
    while server.idle:
        link = server.idle.pop()
        if link.usable:
            return link
        server.links -= 1
    if server.links >= LINKS_MAX:
        return None
    server.links += 1
    try:
        return await server.upstreams.open()
    except BaseException:
        server.links -= 1
        raise
