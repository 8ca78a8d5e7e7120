"""A worker's Thrift server with its settings, its metastores and the other workers' servers."""

import asyncio
import ssl
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

import structlog
from sqlalchemy.exc import SQLAlchemyError

from hive.collation import UNKNOWN
from hive.errors import InputError, MetatideError
from hive.names import DEFAULT_PARTITION, default_catalog
from metatide.advertised import joined, worker_host
from metatide.certificates import server_tls
from metatide.config import Config
from metatide.config.thrift import Thrift
from metatide.metastores import require_proof, upstream_settings
from metatide.stack.java import find_java
from metatide.worker.guard import guard_of
from metatide.worker.logins import http_settings, mechanisms
from metatide.worker.shards import WorkerShards
from metatide.worker.thrift_owners import ThriftOwners
from query_api.backend import Backend
from query_api.database import Primary
from query_api.http import Settings
from query_api.http.forward import Forwarder
from query_api.thrift.java.expressions import Expressions, JavaSettings
from query_api.thrift.metastore.link import host_port
from query_api.thrift.metastore.settings import MetastoreSettings, fetch_settings
from query_api.thrift.metastore.upstream import UpstreamSettings
from query_api.thrift.methods import CachedMethods
from query_api.thrift.methods.left_reads import LeftReads
from query_api.thrift.sasl.mechanism import Mechanism
from query_api.thrift.server import ThriftServer
from query_api.thrift.settings import ThriftSettings

ASK_AGAIN_S: Final = 5.0

log = structlog.get_logger(__name__)


class WorkerThriftServer:
    """The Thrift server of a worker, and the parts that only this server needs."""

    def __init__(
        self,
        config: Config,
        shards: WorkerShards,
        primary: Primary,
        backend: Backend,
        settings: Settings,
    ) -> None:
        thrift = config.thrift
        self.port = 0
        self._host = thrift.host
        self._port_wanted = thrift.port or 0
        self._http_port_wanted = thrift.http_port
        self._owners = ThriftOwners(shards, Forwarder(settings.trusted, settings.peers))
        self._expressions = expressions(thrift)
        self._methods = CachedMethods(
            backend,
            settings.defaults,
            expressions=self._expressions,
            collation=UNKNOWN,
        )
        self._primary = primary
        require_proof(config)
        self._upstream = upstream_settings(config.upstream, config.worker.advertised_host)
        self._silent_metastores = list(self._upstream.addresses)
        self._tasks: list[asyncio.Task[None]] = []
        tls = server_tls("thrift", thrift)
        logins = mechanisms(
            thrift, config.worker.advertised_host, primary.delegation_token, self._upstream
        )
        trusted = settings.trusted or ssl.create_default_context()
        self.server = ThriftServer(
            self._methods,
            backend,
            thrift_settings(thrift, tls, logins, settings.names),
            self._upstream,
            owner_of=self._owners.of,
            known_owner_of=self._owners.known,
            peer_settings=UpstreamSettings(tls=None if tls is None else trusted),
            peers=settings.peers,
            host=worker_host(config),
            expressions=None if self._expressions is None else self._expressions.outcomes,
            guard=guard_of(config, backend),
        )

    async def start(self) -> None:
        await self._ask_metastores()
        self.port = await self.server.start(self._host, self._port_wanted)
        log.info("listening for Thrift calls", address=joined(self._host, self.port))
        if self._http_port_wanted is not None:
            http_port = await self.server.start_http(self._host, self._http_port_wanted)
            log.info("listening for Thrift over HTTP", address=joined(self._host, http_port))
        self._tasks = [asyncio.create_task(self._poll_silent_metastores())]
        if not await self._has_collation():
            self._tasks.append(asyncio.create_task(self._find_collation()))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.server.close()
        self._methods.close()
        await self._owners.close()
        if self._expressions is not None:
            await self._expressions.close()

    async def _poll_silent_metastores(self) -> None:
        """Asks the metastores until each has answered, because they may start later."""
        while self._silent_metastores:
            await asyncio.sleep(ASK_AGAIN_S)
            await self._ask_metastores()

    async def _ask_metastores(self) -> None:
        """Asks the metastores for their default catalog, which gives names their meaning, and for
        settings that answers depend on.
        """
        silent = self._silent_metastores
        answers = await asyncio.gather(
            *(fetch_settings(self._upstream, address) for address in silent)
        )
        self._silent_metastores = []
        for address, settings in zip(silent, answers, strict=True):
            if settings is None:
                self._silent_metastores.append(address)
            else:
                self._apply_settings(settings, host_port(address))

    def _apply_settings(self, settings: MetastoreSettings, metastore: str) -> None:
        self._check_catalog(settings, metastore)
        self._apply_limits(settings, metastore)
        if settings.warehouse and not self._methods.warehouse:
            self._methods.set_warehouse(settings.warehouse)
        if settings.open_txn_timeout_ms is not None:
            self._methods.set_open_txn_timeout(settings.open_txn_timeout_ms)
            self._primary.fallback.set_open_txn_timeout(settings.open_txn_timeout_ms)

    def _check_catalog(self, settings: MetastoreSettings, metastore: str) -> None:
        if settings.default_catalog == default_catalog():
            return
        self._leave(self._methods.leave_all)
        log.error(
            "a metastore has another default catalog than database.default_catalog says: "
            "the metastores answer all calls",
            metastore=metastore,
            its=settings.default_catalog,
            ours=default_catalog(),
        )

    def _apply_limits(self, settings: MetastoreSettings, metastore: str) -> None:
        left = LeftReads(
            limits=not settings.orders_by_name,
            filters=not settings.reads_in_sql or settings.default_partition != DEFAULT_PARTITION,
            partitions=not settings.reads_in_sql,
            aggregates=not settings.reads_in_sql or not settings.merges_by_range,
            of_transactional=not settings.has_txn_statistics,
        )
        if not any(left):
            return
        self._leave(partial(self._methods.leave, left))
        log.warning(
            "a metastore has other settings than Hive's own: the metastores answer calls "
            "that depend on them",
            metastore=metastore,
            **left._asdict(),
        )

    def _leave(self, leave: Callable[[], None]) -> None:
        """Leaves calls to metastores from now on, also those whose replies are cached."""
        leave()
        self.server.forget()

    async def _find_collation(self) -> None:
        """Asks the database for its collation until it answers."""
        await asyncio.sleep(ASK_AGAIN_S)
        while not await self._has_collation():
            await asyncio.sleep(ASK_AGAIN_S)

    async def _has_collation(self) -> bool:
        try:
            collation = await asyncio.to_thread(self._primary.collation)
        except (SQLAlchemyError, MetatideError) as error:
            log.info("the database doesn't tell its collation", error=str(error))
            return False
        self._methods.set_collation(collation)
        return True


def thrift_settings(
    thrift: Thrift,
    tls: ssl.SSLContext | None,
    logins: Mapping[str, Mechanism] | None = None,
    names: Iterable[str] = (),
) -> ThriftSettings:
    """The server's settings from the configuration. `names` are the server's own."""
    if thrift.shadow and thrift.guards_reads:
        raise InputError(
            "thrift.shadow excludes thrift.relay_reads, thrift.relay_reads_of and "
            "thrift.authorization: where reads are the metastore's for its authorization hooks, "
            "the cache must not be asked behind them"
        )
    return ThriftSettings(
        relay_reads=thrift.relay_reads,
        shadow=thrift.shadow,
        slow_ms=thrift.slow_ms,
        connections_max=thrift.connections_max,
        message_bytes_max=thrift.message_bytes_max,
        tls=tls,
        mechanisms=logins or {},
        http=http_settings(thrift, logins or {}, names),
    )


def expressions(thrift: Thrift) -> Expressions | None:
    """The reader of serialized expressions, if Hive's jars are available."""
    if thrift.hive_classpath is None:
        return None
    return Expressions(JavaSettings(thrift.hive_java or find_java(), thrift.hive_classpath))
