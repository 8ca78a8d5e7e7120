"""A way to a TCP port on which each byte takes longer, as to a database in a cloud.

python -m benchmarks.delay PORT TARGET_PORT ROUND_TRIP_MS
"""

import asyncio
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa

from metatide.stack.machine import LOOPBACK, free_port
from metatide.stack.service import Launch, Service
from tests.support.links import Link
from tests.support.processes import open_folder, running


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


@contextmanager
def delayed_database(url: sa.URL, delay_ms: float) -> Iterator[sa.URL]:
    """A database by a way on which a round trip takes as long; without a delay it is direct."""
    if not delay_ms:
        yield url
        return
    assert url.port is not None
    port = DelayedPort(url.port, delay_ms)
    with open_folder() as folder, running(port, folder / "delay.log"):
        yield url.set(host=LOOPBACK, port=port.port)


async def _serve(port: int, target_port: int, delay_s: float) -> None:
    server = await Link(port, target_port, delay_s).serve()
    await server.serve_forever()


if __name__ == "__main__":
    own, target, round_trip = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(own, target, round_trip / 2000))
