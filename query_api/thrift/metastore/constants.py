"""What a metastore answers alike for as long as it runs."""

import asyncio
from time import monotonic
from typing import Final

import structlog

from hive.errors import UpstreamError
from query_api.thrift.metastore.link import Link, ask
from query_api.thrift.metastore.upstream import Upstreams
from query_api.thrift.protocol.wire import MessageType

CONSTANT_METHODS: Final = frozenset(
    # Hive flushes before each statement, which no metastore of Hive 3 or 4 has any use for.
    ("flushCache", "get_config_value", "get_metastore_db_uuid", "getVersion")
)
TIMEOUT_S: Final = 5.0
CACHED_S: Final = 60.0
"""A host that vanishes leaves a connection that looks alive, so answers aren't cached for ever."""
FAILED_S: Final = 5.0
"""How long nobody tries again after a metastore didn't answer: callers have other ways to it."""
CACHED_MAX: Final = 256
BYTES_MAX: Final = 4096
_SUCCESS: Final = b"\0\0"
"""The number of the field that isn't an exception."""
_VOID: Final = b"\0"

log = structlog.get_logger(__name__)

_Question = tuple[str, bytes]


class Constants:
    """Answers of one metastore, cached while a connection to it lasts.

    A metastore reads its settings as it starts. What it has told therefore holds until it ends,
    and with it the connection.
    """

    def __init__(self, upstreams: Upstreams) -> None:
        self._upstreams = upstreams
        self._link: Link | None = None
        self._turn = asyncio.Lock()
        self._failed_until_s = 0.0
        self._results: dict[_Question, tuple[float, bytes]] = {}

    def cached(self, method: str, arguments: bytes) -> bytes | None:
        """The cached result; None if there is none."""
        if self._link is None or not self._link.usable:
            return None
        until_s, result = self._results.get((method, arguments), (0.0, b""))
        return result if monotonic() < until_s else None

    async def ask(self, method: str, arguments: bytes) -> bytes | None:
        """The result, from the metastore if it isn't cached; None if no metastore gives one."""
        async with self._turn:
            result = self.cached(method, arguments)
            if result is not None:
                return result
            if monotonic() < self._failed_until_s:
                return None
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    return await self._ask(method, arguments)
            except (UpstreamError, TimeoutError) as error:
                log.info("a metastore doesn't tell its settings", method=method, error=str(error))
                self._failed_until_s = monotonic() + FAILED_S
            except BaseException:
                self.close()
                raise
            self.close()
            return None

    def close(self) -> None:
        link, self._link = self._link, None
        self._results.clear()
        if link is not None:
            link.close()

    async def _ask(self, method: str, arguments: bytes) -> bytes | None:
        if self._link is None or not self._link.usable:
            self._results.clear()
            self._link = await self._upstreams.open()
        start_s = monotonic()
        kind, result = await ask(self._link, method, arguments)
        if kind != MessageType.REPLY:
            return None
        is_answer = result == _VOID or result[1:3] == _SUCCESS
        is_short = len(arguments) + len(result) <= BYTES_MAX
        if is_answer and is_short:
            # The dictionary is in the order of asking, and so of ending.
            self._results.pop((method, arguments), None)
            if len(self._results) >= CACHED_MAX:
                del self._results[next(iter(self._results))]
            self._results[method, arguments] = start_s + CACHED_S, result
        return result
