"""A call on its way to a metastore and its reply on the way back."""

from time import perf_counter
from typing import Final, Protocol

from hive.errors import ThriftError
from query_api.thrift.call import Substitute, Why
from query_api.thrift.metastore.link import Link
from query_api.thrift.method_kinds import is_read
from query_api.thrift.protocol.wire import Message, MessageType, header

COPY_BYTES_MAX: Final = 64 * 1024 * 1024
"""The maximum length of a reply that must be collected whole."""


class Client(Protocol):
    """The connection on which the call arrived."""

    def pass_on(self, data: bytes, /) -> None:
        """Writes some of the reply."""

    def count_held(self, size: int, /) -> None:
        """Takes note that so many bytes of a reply are held until its end."""

    def relayed(self, relaying: "RelayedCall", /) -> None:
        """Called when the whole reply was passed on."""

    def unanswered(self, relaying: "RelayedCall", why: str, /) -> None:
        """Called when the connection to the metastore was lost before the end of the reply."""


class RelayedCall:
    """Passes on the bytes of a reply as they arrive; copies them only if a copy is needed."""

    def __init__(
        self,
        client: Client,
        message: Message,
        why: Why,
        *,
        instead: Substitute | None = None,
        copies: bool = False,
    ) -> None:
        self.message = message
        self.why = why
        self.tries = 0
        self.began = 0.0
        """When the call was sent, by `perf_counter`."""
        self._client = client
        self._instead = instead
        self._copy: list[bytes] | None = [] if copies or instead is not None else None
        self._copied = 0
        self._begun = False
        self._link: Link | None = None

    @property
    def may_try_again(self) -> bool:
        """Whether the call may be sent again, which hides a lost connection from the client."""
        return not self._begun and is_read(self.message.method)

    @property
    def result(self) -> bytes | None:
        """The result struct; None if it wasn't copied, or if the reply is an exception."""
        assert self._link is not None
        if self._copy is None or self._link.reply_kind != MessageType.REPLY:
            return None
        return b"".join(self._copy)[self._link.reply_body_at :]

    def begin(self, link: Link) -> None:
        """Sends the call."""
        self.tries += 1
        self.began = perf_counter()
        self._link = link
        if self._copy is not None:
            self._copy, self._copied = [], 0
        message, other = self.message, self._instead
        if other is None:
            link.call(message.data, self)
        else:
            head = header(MessageType.CALL, other.method, message.sequence)
            link.call(head + other.arguments, self)

    def piece(self, data: bytes) -> None:
        if self._instead is None:
            self._begun = True
            self._client.pass_on(data)
        if self._copy is not None:
            self._copied += len(data)
            self._copy.append(data)
            self._client.count_held(len(data))
            if self._copied > COPY_BYTES_MAX:
                self._copy = None

    def whole(self) -> None:
        if self._instead is not None:
            try:
                self._client.pass_on(self._translated(self._instead))
            except ThriftError as error:
                self.lost(str(error))
                return
        self._client.relayed(self)

    def lost(self, why: str) -> None:
        self._client.unanswered(self, why)

    def _translated(self, instead: Substitute) -> bytes:
        assert self._link is not None
        if self._copy is None:
            raise ThriftError(f"the metastore's reply is longer than {COPY_BYTES_MAX} bytes")
        body = b"".join(self._copy)[self._link.reply_body_at :]
        kind = MessageType(self._link.reply_kind)
        if kind is MessageType.REPLY:
            body = instead.translated(body)
        return header(kind, self.message.method, self.message.sequence) + body
