"""A way to a TCP port on which each byte takes longer, as to a database in a cloud.

python -m benchmarks.delay PORT TARGET_PORT ROUND_TRIP_MS
"""

import asyncio
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

from metatide.stack.machine import LOOPBACK, free_port
from metatide.stack.service import Launch, Service

_CHUNK_BYTES = 1 << 16


class DelayedPort(Service):
    """Another port of the target, on which round trips take longer."""

    name = "delay"

    def __init__(self, target_port: int, round_trip_ms: float) -> None:
        self.port = free_port()
        self._arguments = (str(self.port), str(target_port), str(round_trip_ms))

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    def prepare(self) -> Launch:
        root = str(Path(__file__).parents[1])
        argv = (sys.executable, "-m", "benchmarks.delay", *self._arguments)
        return Launch(argv, {"PYTHONPATH": root})

    def answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((LOOPBACK, self.port)) == 0


async def _pass_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float
) -> None:
    """Writes what it reads, each piece `delay_s` later, in order."""
    waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def write() -> None:
        while True:
            due, data = await waiting.get()
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            if not data:
                return
            writer.write(data)
            await writer.drain()

    writing = asyncio.create_task(write())
    with suppress(ConnectionError):
        while data := await reader.read(_CHUNK_BYTES):
            waiting.put_nowait((time.monotonic() + delay_s, data))
    waiting.put_nowait((time.monotonic() + delay_s, b""))
    with suppress(ConnectionError):
        await writing
    writer.close()


async def _serve(port: int, target_port: int, delay_s: float) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_reader, to_writer = await asyncio.open_connection(LOOPBACK, target_port)
        await asyncio.gather(
            _pass_on(reader, to_writer, delay_s), _pass_on(to_reader, writer, delay_s)
        )

    server = await asyncio.start_server(connected, LOOPBACK, port)
    await server.serve_forever()


if __name__ == "__main__":
    own, target, round_trip = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(own, target, round_trip / 2000))
