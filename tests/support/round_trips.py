"""A way to a server that counts how often a client waits for it."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from selectors import EVENT_READ, DefaultSelector
from threading import Thread

from metatide.stack.machine import LOOPBACK

_CHUNK_BYTES = 1 << 16


class RoundTrips:
    """Passes on what comes, and counts the times that the client sends after the server did."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.count = 0
        self._target = target
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port: int = self._listener.getsockname()[1]
        Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as server, DefaultSelector() as ready:
            ready.register(client, EVENT_READ, server)
            ready.register(server, EVENT_READ, client)
            client_waits = False
            while True:
                for key, _ in ready.select():
                    source, other = key.fileobj, key.data
                    assert isinstance(source, socket.socket)
                    data = source.recv(_CHUNK_BYTES)
                    if not data:
                        return
                    if source is client and not client_waits:
                        self.count += 1
                    client_waits = source is client
                    other.sendall(data)


@contextmanager
def round_trips(target: tuple[str, int]) -> Iterator[RoundTrips]:
    way = RoundTrips(target)
    try:
        yield way
    finally:
        way.close()
