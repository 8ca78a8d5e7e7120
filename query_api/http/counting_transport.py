"""A transport that counts what its client leaves untaken."""

import asyncio
from typing import Any

from query_api.in_flight import LARGE_BYTES, Untaken


class CountingTransport:
    """A transport that counts large writes."""

    def __init__(self, transport: asyncio.Transport, untaken: Untaken) -> None:
        self._transport = transport
        self._untaken = untaken
        self._write = transport.write
        # The others are found by `__getattr__`, which takes longer.
        self.is_closing = transport.is_closing
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading
        self.get_write_buffer_size = transport.get_write_buffer_size

    def write(self, data: bytes) -> None:
        self._write(data)
        if len(data) > LARGE_BYTES:
            self._untaken.wrote(len(data), self.get_write_buffer_size())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
