"""A connection without a socket, whose calls end when a test says so."""

import asyncio
from typing import cast

from query_api.in_flight import Budget
from query_api.thrift.connection.connection import Connection
from query_api.thrift.protocol.wire import Message
from query_api.thrift.settings import ThriftSettings


class Transport:
    """Takes everything, and says what it was asked to do."""

    def __init__(self) -> None:
        self.is_reading = True
        self.is_open = True
        self.is_aborted = False
        self.buffered = 0
        """How many bytes the client hasn't taken."""
        self.written: list[bytes] = []

    def get_extra_info(self, _: str) -> None:
        return None

    def get_write_buffer_size(self) -> int:
        return self.buffered

    def set_write_buffer_limits(self, *, high: int, low: int) -> None:
        pass

    def is_closing(self) -> bool:
        return not self.is_open

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.is_open = False

    def abort(self) -> None:
        self.is_open = False
        self.is_aborted = True

    def pause_reading(self) -> None:
        assert self.is_reading
        self.is_reading = False

    def resume_reading(self) -> None:
        assert not self.is_reading
        self.is_reading = True


class Calls:
    """Ends calls at once, or later when it is told to."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.begun: list[bytes] = []
        self.ended = 0
        self.at_once = True
        self.fills = False
        """Whether the next reply is more than the client takes."""
        self.is_closed = False

    def answer_from_cache(self, _: bytes) -> bool:
        return False

    def begin(self, call: Message) -> None:
        assert self.ended == len(self.begun), "one call at a time"
        assert not self.connection.flow.is_blocked
        self.begun.append(call.data)
        if self.fills:
            self.fills = False
            self.connection.pause_writing()
        if self.at_once:
            self.end()

    def end(self) -> None:
        self.ended += 1
        self.connection.done()

    def writable(self, writable: bool) -> None:
        pass

    def close(self) -> None:
        self.is_closed = True


def connected(
    settings: ThriftSettings | None = None, bytes_max: int = 1 << 30
) -> tuple[Connection, Calls, Transport, Budget]:
    budget = Budget(bytes_max)
    connection = Connection(settings or ThriftSettings(), budget)
    transport, calls = Transport(), Calls(connection)
    connection.calls = calls
    connection.connection_made(cast(asyncio.BaseTransport, transport))
    return connection, calls, transport, budget
