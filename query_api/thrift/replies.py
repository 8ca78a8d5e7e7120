"""How the replies to a client's calls are written, cached and counted."""

import asyncio
from collections.abc import AsyncIterable, Iterator
from functools import partial
from time import perf_counter
from typing import Final

import structlog

from query_api.latest.log_end import LogEnd
from query_api.reasons import Reason, Source
from query_api.thrift.call import CallAnswer, Client, Why
from query_api.thrift.connection.connection import Connection
from query_api.thrift.hub import Hub
from query_api.thrift.metrics import METASTORE
from query_api.thrift.protocol.wire import REPLY_HEAD, Message, MessageType, header
from query_api.thrift.reply_cache import CachedReply, cached_reply

AT_ONCE_BYTES: Final = 256 * 1024
"""The number of bytes of a chunked answer that are written before other clients get a turn."""
CALL_HEAD: Final = b"\x80\x01\x00\x01\x00\x00\x00"
"""The beginning of a call whose reply may be cached."""
NAME_LENGTH_AT: Final = len(CALL_HEAD)
"""Where such a call has the length of its method's name, which fits into a byte."""
HEAD_BYTES_MIN: Final = 12
"""The length of a head without a name: version, length of the name, sequence number."""

log = structlog.get_logger(__name__)


class Replies:
    """Writes the replies to one client, each of which ends a call."""

    def __init__(self, hub: Hub, connection: Connection, client: Client) -> None:
        self.call_began = 0.0
        """The time when the client's current call began."""
        self._hub = hub
        self._connection = connection
        self._client = client

    def send(self, message: Message, answer: CallAnswer) -> None:
        """Writes an answer at once or as the client takes it, and may cache it for equal calls."""
        head, result = header(MessageType.REPLY, message.method, message.sequence), answer.result
        if isinstance(result, bytes):
            self._connection.write(head, result)
            self._cache(message, answer, result)
            self.answered(message.method, answer.source, answer.reason)
        elif isinstance(result, AsyncIterable):
            self._connection.write(head)
            self._connection.run(self._stream(message, answer, result))
        else:
            self._connection.write(head)
            chunks = iter(result)
            if self._write_some(chunks):
                self.answered(message.method, answer.source, answer.reason)
            else:
                self._connection.run(self._stream_rest(message, answer, chunks))

    def send_cached(self, cached: CachedReply, head: bytes) -> None:
        """Answers a call by a cached reply; `head` is the part of the call that it repeats."""
        self._connection.write(REPLY_HEAD + head, cached.body)
        cached.figures.answered(Source.CACHE, cached.reason, perf_counter() - self.call_began)

    def send_if_confirmed(self, cached: CachedReply, data: bytes, head: bytes) -> None:
        """Answers the call in `data` by a cached reply, if the database confirms that it is still
        the latest.
        """
        self._connection.begin_cached_call()
        reached = self._hub.reply_cache.log_from(cached)
        self._hub.log_end_reads.ask(reached, partial(self._send_if_confirmed, cached, data, head))

    # Overridden in `traced_dispatch.py`.
    def relayed(self, method: str, why: Why) -> None:
        """Ends a call to which a metastore's reply was passed on."""
        seconds = perf_counter() - self.call_began
        self._hub.metrics.of(method).answered_by_metastore(why, seconds)
        self._log_slow(method, METASTORE, why, seconds)
        self._connection.done()

    # Overridden in `traced_dispatch.py`.
    def answered(self, method: str, source: Source, reason: Reason) -> None:
        """Ends a call whose reply was written."""
        seconds = perf_counter() - self.call_began
        self._hub.metrics.of(method).answered(source, reason, seconds)
        self._log_slow(method, source, reason, seconds)
        self._connection.done()

    # Overridden in `traced_dispatch.py`.
    def unanswered(self) -> None:
        """Ends a call whose reply was written, and counts as no answer."""
        self._connection.done()

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
        self.answered(message.method, answer.source, answer.reason)

    async def _stream(
        self, message: Message, answer: CallAnswer, chunks: AsyncIterable[bytes]
    ) -> None:
        async for chunk in chunks:
            self._connection.write(chunk)
            await self._connection.flow.writable()
        self.answered(message.method, answer.source, answer.reason)

    def _cache(self, message: Message, answer: CallAnswer, result: bytes) -> None:
        data = message.data
        if answer.moment is None or data[:NAME_LENGTH_AT] != CALL_HEAD:
            return
        call, cache = key_of(data), self._hub.reply_cache
        if self.call_began <= cache.cleared_s or not cache.admits(call):
            return
        cached = cached_reply(
            call,
            answer.moment,
            answer.to_confirm,
            answer.max_age_ms,
            answer.reason,
            result,
            self._hub.metrics.of(message.method),
        )
        cache.put(call, cached)

    def _send_if_confirmed(
        self, cached: CachedReply, data: bytes, head: bytes, log_end: LogEnd | None
    ) -> None:
        # The read may have shown another history of the database, which drops the reply.
        still = self._hub.reply_cache.get(key_of(data)) is cached
        if still and log_end is not None and cached.confirm(log_end):
            self.send_cached(cached, head)
            self._connection.done()
        else:
            self._connection.restart_cached_call(data)

    def _log_slow(self, method: str, source: str, why: Why, seconds: float) -> None:
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


def key_of(data: bytes) -> bytes:
    """The bytes of a call without its sequence number; it begins as `CALL_HEAD` does."""
    sequence_end = HEAD_BYTES_MIN + data[NAME_LENGTH_AT]
    return data[: sequence_end - 4] + data[sequence_end:]
