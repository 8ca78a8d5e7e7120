"""Ways to TCP ports of this machine that can be slowed down, stopped and cut."""

import asyncio
import json
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from metatide.stack.machine import LOOPBACK

_CHUNK_BYTES: Final = 1 << 16
_POLL_S: Final = 0.02


@dataclass
class Link:
    """A port that leads to another one. Where it is silent, connections stay open and nothing comes
    through; where it is cut, connections end and new ones, too.
    """

    port: int
    target_port: int
    delay_s: float = 0.0
    silent: bool = False
    cut: bool = False
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    async def serve(self) -> asyncio.Server:
        return await asyncio.start_server(self._connected, LOOPBACK, self.port)

    def change(self, delay_s: float, *, silent: bool, cut: bool) -> None:
        self.delay_s, self.silent, self.cut = delay_s, silent, cut
        if cut:
            for writer in self._writers:
                writer.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.cut:
                raise ConnectionRefusedError
            to_reader, to_writer = await asyncio.open_connection(LOOPBACK, self.target_port)
        except OSError:
            writer.close()
            return
        both = {writer, to_writer}
        self._writers |= both
        try:
            await asyncio.gather(self._pass_on(reader, to_writer), self._pass_on(to_reader, writer))
        finally:
            self._writers -= both

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Writes what it reads, each piece as late as the link wants it, in order."""
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def write() -> None:
            while True:
                arrived, data = await waiting.get()
                while (rest_s := arrived + self.delay_s - time.monotonic()) > 0 or self.silent:
                    await asyncio.sleep(max(rest_s, _POLL_S if self.silent else 0.0))
                if not data:
                    return
                writer.write(data)
                await writer.drain()

        writing = asyncio.create_task(write())
        with suppress(ConnectionError):
            while data := await reader.read(_CHUNK_BYTES):
                waiting.put_nowait((time.monotonic(), data))
        waiting.put_nowait((time.monotonic(), b""))
        with suppress(ConnectionError):
            await writing
        writer.close()


class Links:
    """A process with links, which its parent changes."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.links"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )

    def change(
        self,
        port: int,
        target_port: int,
        *,
        delay_s: float = 0.0,
        silent: bool = False,
        cut: bool = False,
    ) -> None:
        """Makes a link of this port, if there is none, and changes it; then returns."""
        state = {"delay_s": delay_s, "silent": silent, "cut": cut}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([port, target_port, state]), file=self._process.stdin, flush=True)
        assert self._process.stdout.readline() == "done\n"

    def end(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.kill()
        self._process.wait()


async def _follow_orders() -> None:
    """Changes links as the lines of its input say, until it ends."""
    links: dict[int, Link] = {}
    servers: list[asyncio.Server] = []
    while line := await asyncio.to_thread(sys.stdin.readline):
        port, target_port, state = json.loads(line)
        if port not in links:
            links[port] = Link(port, target_port)
            servers.append(await links[port].serve())
        links[port].change(**state)
        print("done", flush=True)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(_follow_orders())
