"""`metatide work`: runs a worker."""

import asyncio
import logging
import sys
from contextlib import AsyncExitStack

import click
import structlog
import uvloop

from hive.errors import InputError, MetatideError
from hive.units import MIB
from metatide.advertised import joined, worker_host
from metatide.config import Config, Effective, configured
from metatide.process import logs
from metatide.process.data_folder import open_data_folder
from metatide.process.garbage_collection import CALLS_AT_A_TIME, collect_seldom
from metatide.process.metrics import VERSION
from metatide.process.open_files import allow_open_files
from metatide.process.stop_signals import STOP_SIGNALS
from metatide.process.tracing import traced
from metatide.stack.machine import free_port, require_port
from metatide.stack.running import completed, missing
from metatide.worker.application import worker_application
from metatide.worker.read_settings import tls
from processors.directory import worker_path
from processors.freed_memory import limit_freed_memory
from processors.worker.limits import Allowed
from processors.worker.worker import Worker, WorkerSettings
from query_api.http import ReadServer

log = structlog.get_logger(__name__)
# Threads are switched at this short interval, so that bulk folding doesn't hold up the event loop.
_SWITCH_S = 0.001


@click.command()
@configured(
    "data_dir",
    "kafka.bootstrap_servers",
    "database.url",
    "worker.name",
    "worker.port",
    "thrift.port",
    "upstream.url",
    "images.url",
)
def command(effective: Effective) -> None:
    """Run a worker until Ctrl-C: it folds its share of the topic and answers reads from it.

    The workers of a group divide the shards among them. With a database the worker answers reads
    under /v1, from its shards or from the database; /v1/openapi.json describes them. With
    --thrift-port it also speaks the metastore's Thrift interface, and relays what the cache doesn't
    answer to the metastores of --upstream. Without --kafka and --database it uses those of a
    running `metatide up`. /readyz says whether all its shards follow the topic, /v1/status their
    positions, and /metrics the same for Prometheus.
    """
    config = completed(effective.config)
    if config.kafka.bootstrap_servers is None:
        raise InputError(missing("Kafka", "--kafka HOST:PORT", config))
    sys.setswitchinterval(_SWITCH_S)
    logging.getLogger().setLevel(logging.CRITICAL)
    logs.configure(config.log)
    limit_freed_memory()
    allow_open_files()
    open_data_folder(config)
    name = config.worker.name
    log.info(
        "a worker starts",
        name=name,
        version=VERSION,
        group=config.worker_group,
        topic=config.kafka.topic,
        brokers=config.kafka.bootstrap_servers,
    )
    try:
        uvloop.run(_work(config))
    except* MetatideError as errors:
        raise errors.exceptions[0] from None
    finally:
        log.info("a worker ended", name=name)


async def _work(config: Config) -> None:
    """Runs the worker. The servers are prepared while it joins the group, which takes time."""
    port = config.worker.port or free_port()
    require_port(port, "worker.port", config.worker.host)
    thrift = config.thrift
    for name, wanted in (("thrift.port", thrift.port), ("thrift.http_port", thrift.http_port)):
        if wanted is not None:
            require_port(wanted or free_port(), name, thrift.host)
    with traced(config, "metatide-work") as tracing:
        await _run(config, Worker(_settings(config, port), tracing), port)


async def _run(config: Config, worker: Worker, port: int) -> None:
    working = asyncio.create_task(worker.run())
    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, working.cancel)
    answering = asyncio.create_task(_answer(config, worker, port))
    tasks = working, answering
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()


async def _answer(config: Config, worker: Worker, port: int) -> None:
    """Serves until it is cancelled, then finishes the requests that have begun."""
    certificate = tls(config)
    scheme = "http" if certificate is None else "https"
    async with AsyncExitStack() as parts:
        application = await worker_application(config, worker, scheme, parts)
        server = ReadServer(application, config.worker.host, port, certificate)
        collect_seldom(CALLS_AT_A_TIME)
        serving = asyncio.create_task(server.serve())
        advertised = worker.settings.address
        log.info("listening", address=joined(config.worker.host, port), advertised=advertised)
        try:
            await asyncio.shield(serving)
        finally:
            server.end()
            await asyncio.wait([serving])


def _settings(config: Config, port: int) -> WorkerSettings:
    assert config.kafka.bootstrap_servers is not None
    worker = config.worker
    return WorkerSettings(
        servers=config.kafka.bootstrap_servers,
        topic=config.kafka.topic,
        security=config.kafka.security,
        path=worker_path(config.data_dir, worker.name),
        name=worker.name,
        group=config.worker_group,
        # Clients write names of hosts in lower case, and prove what they ask for an address.
        address=joined(worker_host(config).lower(), worker.advertised_port or port),
        session_timeout_s=worker.session_timeout_s,
        flush_s=worker.flush_s,
        images_url=config.images.url,
        images_every_s=config.images.every_s,
        images_keep=config.images.keep,
        memory_bytes=config.state.memory_bytes,
        allowed=Allowed(
            disk_bytes_max=worker.disk_max_mib * MIB or None,
            disk_free_bytes_min=worker.disk_free_min_mib * MIB,
            memory_bytes_max=worker.memory_max_mib * MIB or None,
        ),
    )
