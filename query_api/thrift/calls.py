"""The calls of one client: who answers each, and how the reply is sent."""

import asyncio
from collections.abc import AsyncIterable, Iterator
from functools import partial
from time import perf_counter
from typing import Final

import structlog

from hive.errors import MetatideError, ThriftError, UpstreamError
from query_api.latest.latest_log import LatestLog
from query_api.positions import Position
from query_api.reasons import Reason, Source
from query_api.thrift.call import Call, CallAnswer, Client, Relay, Unable, Why
from query_api.thrift.client_identity import SET_META_CONF, SET_UGI, ClientIdentity
from query_api.thrift.connection import Connection
from query_api.thrift.forward import FORWARDED, call_of, refused, told
from query_api.thrift.hub import Hub
from query_api.thrift.method_kinds import is_read
from query_api.thrift.metrics import METASTORE
from query_api.thrift.relay import RelayedCall
from query_api.thrift.reply_cache import CachedReply
from query_api.thrift.results import whole
from query_api.thrift.upstream import Link
from query_api.thrift.wire import REPLY_HEAD, Fault, Message, MessageType, header, refusal

AT_ONCE_BYTES: Final = 256 * 1024
"""The number of bytes of a chunked answer that are written before other clients get a turn."""
_CALL_HEAD: Final = b"\x80\x01\x00\x01\x00\x00\x00"

log = structlog.get_logger(__name__)


class ClientCalls:
    """Answers the calls of one connection, or relays them.

    1. The cache's answers reflect all that this client wrote through this connection.
    2. What the cache doesn't answer, a metastore does, and its reply is passed on byte for byte.
    """

    def __init__(self, hub: Hub, connection: Connection) -> None:
        self._hub = hub
        self._connection = connection
        self._client = Client(connection.client_address)
        self._session = ClientIdentity(self._client)
        self._link: Link | None = None
        self._floor: asyncio.Task[bool] | None = None
        self._began = 0.0

    # What the connection calls.

    def answered_at_once(self, data: bytes) -> bool:
        if len(data) < 12 or data[:7] != _CALL_HEAD:
            return False
        kept = self._hub.kept.get(_key(data))
        if kept is None or not self._reflects_own_writes(kept.reached):
            return False
        self._began = perf_counter()
        head = data[4 : 12 + data[7]]
        if kept.latest_of:
            self._connection.hold()
            found_of = partial(self._answer_if_latest, kept, data, head)
            self._hub.latest.ask(kept.reached, found_of)
        else:
            self._reply_kept(kept, head)
        return True

    def begin(self, message: Message) -> None:
        self._began = perf_counter()
        hub, method = self._hub, message.method
        if message.kind == MessageType.ONEWAY:
            self._connection.run(self._send_one_way(message))
        elif message.kind != MessageType.CALL:
            self._connection.end("protocol", "expected a call, got a reply")
        elif method in hub.methods.names:
            if hub.settings.relay_reads or hub.settings.shadow:
                self._relay_known(message)
            else:
                self._answer(message)
        elif method == FORWARDED:
            self._connection.run(self._answer_forwarded(message))
        elif method == SET_UGI and self._introduced(message):
            self._connection.done()
        else:
            self._relay(message, Unable.NOT_CACHED, copies=method == SET_META_CONF)

    def writable(self, writable: bool) -> None:
        if self._link is not None:
            if writable:
                self._link.resume()
            else:
                self._link.pause()

    def close(self) -> None:
        if self._floor is not None:
            self._floor.cancel()
        if self._link is not None:
            self._link.close()

    # Answers of the cache.

    def _answer(self, message: Message) -> None:
        client = self._client
        call = Call(message.method, message.body, client, client.min_position)
        if not self._floor_is_known:
            self._connection.run(self._answer_with_own_writes(message, call))
            return
        try:
            outcome = self._hub.methods.answer_now(call)
        except Exception as error:
            outcome = _failed(message, error)
        if outcome is None:
            self._connection.run(self._answer_later(message, call))
        else:
            self._conclude(message, call, outcome)

    async def _answer_later(self, message: Message, call: Call) -> None:
        try:
            outcome = await self._hub.methods.answer(call)
        except Exception as error:
            outcome = _failed(message, error)
        self._conclude(message, call, outcome)

    async def _answer_with_own_writes(self, message: Message, call: Call) -> None:
        if not await self._has_floor():
            self._relay(message, Reason.UNREAD, call)
            return
        call.min_position = self._client.min_position
        await self._answer_later(message, call)

    def _conclude(self, message: Message, call: Call, outcome: CallAnswer | Relay) -> None:
        if isinstance(outcome, CallAnswer):
            self._reply(message, outcome)
        elif outcome.reason is Reason.NOT_OWNED and outcome.shard is not None:
            self._connection.run(self._forward(message, call, outcome, outcome.shard))
        else:
            self._relay(message, outcome.reason, call)

    def _reply(self, message: Message, answer: CallAnswer) -> None:
        head, result = header(MessageType.REPLY, message.method, message.sequence), answer.result
        if isinstance(result, bytes):
            self._connection.write(head + result)
            self._keep(message, answer, result)
            self._answered(message.method, answer.source, answer.reason)
        elif isinstance(result, AsyncIterable):
            self._connection.write(head)
            self._connection.run(self._stream(message, answer, result))
        else:
            self._connection.write(head)
            chunks = iter(result)
            if self._write_some(chunks):
                self._answered(message.method, answer.source, answer.reason)
            else:
                self._connection.run(self._stream_rest(message, answer, chunks))

    def _write_some(self, chunks: Iterator[bytes]) -> bool:
        """Writes the next chunks of an answer; returns whether it is complete."""
        written = 0
        for chunk in chunks:
            self._connection.write(chunk)
            written += len(chunk)
            if written > AT_ONCE_BYTES or self._connection.flow.is_blocked:
                return False
        return True

    async def _stream_rest(
        self, message: Message, answer: CallAnswer, chunks: Iterator[bytes]
    ) -> None:
        while True:
            await asyncio.sleep(0)
            await self._connection.flow.writable()
            if self._write_some(chunks):
                break
        self._answered(message.method, answer.source, answer.reason)

    async def _stream(
        self, message: Message, answer: CallAnswer, chunks: AsyncIterable[bytes]
    ) -> None:
        async for chunk in chunks:
            self._connection.write(chunk)
            await self._connection.flow.writable()
        self._answered(message.method, answer.source, answer.reason)

    def _answered(self, method: str, source: Source, reason: Reason) -> None:
        seconds = perf_counter() - self._began
        self._hub.metrics.of(method).answered(source, reason, seconds)
        self._note_slow(method, source, reason, seconds)
        self._connection.done()

    # Answers that are kept.

    def _keep(self, message: Message, answer: CallAnswer, result: bytes) -> None:
        data = message.data
        if answer.moment is None or data[:7] != _CALL_HEAD:
            return
        kept = CachedReply(
            answer.moment,
            answer.latest_of,
            answer.reason,
            result,
            self._hub.metrics.of(message.method),
        )
        self._hub.kept.put(_key(data), kept)

    def _reply_kept(self, kept: CachedReply, head: bytes) -> None:
        self._connection.write(b"".join((REPLY_HEAD, head, kept.result)))
        kept.figures.answered(Source.CACHE, kept.reason, perf_counter() - self._began)

    def _answer_if_latest(
        self, kept: CachedReply, data: bytes, head: bytes, latest: LatestLog | None
    ) -> None:
        # The read may have shown that the database has another history now.
        still = self._hub.kept.get(_key(data)) is kept
        if still and latest is not None and kept.is_latest(latest):
            self._reply_kept(kept, head)
            self._connection.done()
        else:
            self._connection.again(data)

    # Own writes.

    def _reflects_own_writes(self, position: Position) -> bool:
        least = self._client.min_position
        return self._floor_is_known and (least is None or position >= least)

    @property
    def _floor_is_known(self) -> bool:
        """Whether it is already known how far this client's writes reach."""
        floor = self._floor
        if floor is not None and floor.done() and not floor.cancelled() and floor.result():
            self._floor = None
        return self._floor is None

    def _note_write(self) -> None:
        """Takes note of a write: answers from now on must reflect it."""
        if not self._hub.settings.relay_reads:
            self._floor = asyncio.get_running_loop().create_task(self._raise_floor())

    async def _has_floor(self) -> bool:
        """Finds out how far this client's writes reach; returns whether that is known now."""
        floor = self._floor
        # The position may be readable now, even if it wasn't at the write.
        if floor is None or await floor or await self._raise_floor():
            self._floor = None
            return True
        return False

    async def _raise_floor(self) -> bool:
        latest = await self._hub.database.after_now(self._hub.views.reached)
        if latest is None:
            return False
        position, least = Position(latest.epoch, latest.current), self._client.min_position
        self._client.min_position = position if least is None else max(position, least)
        return True

    # Calls that go elsewhere.

    def _introduced(self, message: Message) -> bool:
        """Whether the session was introduced here, without connecting to a metastore."""
        reply = self._session.introduce(message)
        if reply is None or self._link is not None:
            return False
        self._connection.write(reply)
        return True

    def _relay_known(self, message: Message) -> None:
        """Relays a call that the cache could answer, but must not."""
        call = Call(message.method, message.body, self._client, self._client.min_position)
        shadow = self._hub.settings.shadow
        why = Unable.SHADOW if shadow else Unable.RELAY_READS
        self._relay(message, why, call, copies=shadow)

    def _relay(
        self,
        message: Message,
        why: Why,
        call: Call | None = None,
        *,
        copies: bool = False,
    ) -> None:
        """Relays a message. `call` is set if the cache could answer its method."""
        instead = None if call is None else self._hub.methods.instead(call)
        relaying = RelayedCall(self, message, why, instead=instead, copies=copies)
        if self._link is not None and self._link.usable:
            relaying.begin(self._link)
        else:
            self._connection.run(self._open_and_relay(relaying))

    async def _open_and_relay(self, relaying: RelayedCall) -> None:
        message = relaying.message
        try:
            self._link = await self._hub.upstreams.open(self._session.opening)
        except UpstreamError as error:
            why = f"{error}; the cache can't answer ({relaying.why})"
            reply = refusal(message.method, message.sequence, Fault.INTERNAL_ERROR, why)
            self._connection.write(reply)
            self._hub.metrics.refused["upstream"] += 1
            self._connection.done()
        else:
            relaying.begin(self._link)

    async def _send_one_way(self, message: Message) -> None:
        if self._link is None or not self._link.usable:
            try:
                self._link = await self._hub.upstreams.open(self._session.opening)
            except UpstreamError as error:
                self._connection.end("upstream", str(error))
                return
        self._link.send(message.data)
        self._note_write()
        self._connection.done()

    async def _forward(self, message: Message, call: Call, relay: Relay, shard: int) -> None:
        answer, least = await self._hub.peers.ask(shard, call), call.min_position
        if answer is None or (least is not None and answer.position < least):
            self._relay(message, relay.reason, call)
        else:
            self._reply(message, answer)

    async def _answer_forwarded(self, message: Message) -> None:
        methods = self._hub.methods
        try:
            call = call_of(message)
            if call.method not in methods.names or self._hub.settings.relay_reads:
                raise ThriftError(f"{call.method} is not answered here")
            answer = methods.answer_now(call) or await methods.answer(call)
        except Exception as error:
            answer = _failed(message, error)
        if isinstance(answer, Relay):
            self._connection.write(refused(message))
            self._connection.done()
        else:
            self._connection.write(told(message, answer, await whole(answer.result)))
            self._answered(message.method, answer.source, answer.reason)

    # What a relayed call reports.

    def pass_on(self, data: bytes) -> None:
        self._connection.write(data)

    def relayed(self, relaying: RelayedCall) -> None:
        message, seconds = relaying.message, perf_counter() - self._began
        method = message.method
        self._hub.metrics.of(method).answered_by_metastore(relaying.why, seconds)
        if not is_read(method):
            self._note_write()
        elif method == SET_META_CONF:
            self._session.set(message, relaying.result or b"")
        elif relaying.why is Unable.SHADOW:
            call = Call(method, message.body, self._client, self._client.min_position)
            self._hub.shadow.compare(call, relaying.result, self._session.opening)
        self._note_slow(method, METASTORE, relaying.why, seconds)
        self._connection.done()

    def unanswered(self, relaying: RelayedCall, why: str) -> None:
        if self._link is not None:
            self._hub.upstreams.avoid(self._link.address)
        self._link = None
        if relaying.may_try_again and relaying.tries <= self._hub.upstreams.count:
            self._connection.run(self._open_and_relay(relaying))
        else:
            self._connection.end("upstream", f"the metastore's reply is incomplete: {why}")

    def _note_slow(self, method: str, source: str, why: Why, seconds: float) -> None:
        slow_ms = self._hub.settings.slow_ms
        if slow_ms and seconds * 1000 >= slow_ms:
            log.warning(
                "slow call",
                method=method,
                ms=round(seconds * 1000),
                source=source,
                reason=why,
                client=self._client.address,
                user=self._client.user,
            )


def _failed(message: Message, error: Exception) -> Relay:
    """Handles a failure of the cache by relaying the call."""
    if isinstance(error, MetatideError):
        log.info("a call could not be answered here", method=message.method, error=str(error))
    else:
        log.error("answering a call failed", method=message.method, exc_info=error)
    return Relay(Unable.FAILED)


def _key(data: bytes) -> bytes:
    """The bytes of a call without its sequence number; it begins as `_CALL_HEAD` does."""
    name_end = 8 + data[7]
    return data[:name_end] + data[name_end + 4 :]
