"""Ports that a stack reuses from run to run, so that clients find it again."""

import random
from contextlib import suppress
from pathlib import Path

import msgspec

from hive.errors import UNDECODABLE
from metatide.stack.machine import is_free

RANGE = range(20_000, 32_000)
"""The ports to choose from; systems use higher ones for outgoing connections."""
_TRIES_MAX = 1_000


class Ports:
    """Port numbers by name, stored in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ports: dict[str, int] = {}
        # If a crash of the machine emptied the file, only the previous numbers are lost.
        with suppress(FileNotFoundError, *UNDECODABLE):
            self._ports = msgspec.json.decode(path.read_bytes(), type=dict[str, int])

    def take(self, name: str) -> int:
        """The port of this name: the same as last time, unless another process uses it."""
        port = self._ports.get(name)
        if port is None or not is_free(port):
            port = self._pick()
            self._ports[name] = port
            written = self._path.with_suffix(".new")
            written.write_bytes(msgspec.json.encode(self._ports))
            written.replace(self._path)
        return port

    def _pick(self) -> int:
        for _ in range(_TRIES_MAX):
            port = random.choice(RANGE)
            if port not in self._ports.values() and is_free(port):
                return port
        raise AssertionError(f"none of {_TRIES_MAX} ports is free")
