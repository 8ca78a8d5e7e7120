"""Where other workers' Thrift servers are."""

from time import monotonic
from typing import Annotated, Final

import httpx
import msgspec
import structlog

from hive.errors import UNDECODABLE
from metatide.worker.shards import WorkerShards
from query_api.http.forward import Forwarder
from query_api.thrift.metastore.link import Address

PORT_PATH: Final = "/v1/thrift"
KNOWN_S: Final = 10.0
"""How long another worker's port is remembered."""

log = structlog.get_logger(__name__)


class ThriftPort(msgspec.Struct, frozen=True):
    """The port of a worker's Thrift server."""

    port: Annotated[int, msgspec.Meta(ge=0, le=65535)]


class _KnownAddress(msgspec.Struct, frozen=True):
    address: Address | None
    until_s: float


class ThriftOwners:
    """The Thrift addresses of other workers, which are asked for them over HTTP."""

    def __init__(self, shards: WorkerShards, forwarder: Forwarder) -> None:
        self._shards = shards
        self._forwarder = forwarder
        self._addresses: dict[str, _KnownAddress] = {}

    def known(self, shard: int) -> Address | None:
        """The address of a shard's owner; None if it must be asked for."""
        url = self._shards.owner_url(shard)
        entry = None if url is None else self._entry(url)
        return None if entry is None else entry.address

    async def of(self, shard: int) -> Address | None:
        url = self._shards.owner_url(shard)
        if url is None:
            return None
        entry = self._entry(url)
        if entry is None:
            entry = self._addresses[url] = _KnownAddress(
                await self._ask(url), monotonic() + KNOWN_S
            )
        return entry.address

    async def close(self) -> None:
        await self._forwarder.close()

    def _entry(self, url: str) -> _KnownAddress | None:
        """What a worker has told lately; None if it must be asked again."""
        entry = self._addresses.get(url)
        return None if entry is None or entry.until_s < monotonic() else entry

    async def _ask(self, url: str) -> Address | None:
        answer = await self._forwarder.ask(url, PORT_PATH)
        if answer is None or answer.status != 200:
            return None
        try:
            return httpx.URL(url).host, msgspec.json.decode(answer.content, type=ThriftPort).port
        except (*UNDECODABLE, httpx.InvalidURL) as error:
            log.warning("a worker doesn't tell its Thrift port", url=url, error=str(error))
            return None
