"""The calls of one user on a connection of HTTP, which are handled like those of any connection."""

import asyncio
from typing import Any, Final, Protocol, cast

from msgspec.structs import replace

from hive.errors import ThriftError
from query_api.in_flight import Budget
from query_api.thrift.connection.connection import Connection
from query_api.thrift.connection.first_bytes import Transport
from query_api.thrift.connection.state import IDLE, State
from query_api.thrift.http_transport.settings import HttpSettings
from query_api.thrift.protocol.wire import Message
from query_api.thrift.settings import ThriftSettings


class Exchange(Protocol):
    """Who sends the replies."""

    transport: asyncio.Transport

    def reply(self, data: bytes, /) -> None:
        """Sends a piece of the reply."""
        ...

    def rested(self) -> None:
        """Called when no call is under way any more."""

    def call_ended(self) -> None:
        """Called when no other call can be handled; `Session.ended` says why."""

    def call_broke_off(self) -> None:
        """The same, where the reply to the last one isn't whole."""


class Session(Connection):
    """Takes whole bodies in place of what comes from a socket, and gives replies in pieces."""

    def __init__(self, settings: ThriftSettings, budget: Budget, exchange: Exchange) -> None:
        # Whoever gets so far has logged in.
        super().__init__(replace(settings, mechanisms={}, http=HttpSettings()), budget)
        self._exchange = exchange
        self.connection_made(cast(asyncio.BaseTransport, _Replies(exchange)))
        self._begin_transport(Transport.PLAIN)

    @property
    def is_idle(self) -> bool:
        return self._state is IDLE

    @property
    def has_partial_call(self) -> bool:
        return bool(self._backlog.partial)

    def _whole_message(self, data: bytes, start: int, end: int) -> Message:
        if end < len(data):
            raise ThriftError("the body is to be one whole call")
        return super()._whole_message(data, start, end)

    def _enter(self, state: State) -> None:
        super()._enter(state)
        if state is IDLE:
            self._exchange.rested()


class _Replies:
    """Stands for the transport of a session."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        transport = exchange.transport
        self.write: Final = exchange.reply
        self.close: Final = exchange.call_ended
        self.abort: Final = exchange.call_broke_off
        self.is_closing: Final = transport.is_closing
        self.get_write_buffer_size: Final = transport.get_write_buffer_size
        self.get_extra_info: Final = transport.get_extra_info

    def set_write_buffer_limits(self, **_: Any) -> None:
        """The limits of the connection hold."""

    def pause_reading(self) -> None:
        """A session gets a single body at a time."""

    def resume_reading(self) -> None:
        """See `pause_reading`."""
