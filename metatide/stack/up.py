"""Runs a stack, from the checks of the machine to the shutdown."""

import asyncio
import os
import signal
import time
from collections.abc import Sequence
from types import FrameType

import httpx

from hive.errors import MachineError
from hive.reader.engines import unpooled_engine
from hive.units import MIB
from hive.urls import masked
from metatide.config import Config, Effective
from metatide.metastores import require_gssapi
from metatide.process.data_folder import open_data_folder
from metatide.process.stop_signals import STOP_SIGNALS
from metatide.stack import database, jars
from metatide.stack.java import find_java
from metatide.stack.kafka import KafkaProbe
from metatide.stack.kdc import require_programs
from metatide.stack.machine import require_port, require_room
from metatide.stack.ownership import end_orphans, owned
from metatide.stack.ports import Ports
from metatide.stack.postgres import let_through
from metatide.stack.processes import Ours, services
from metatide.stack.realm import Realm, require_free_choice
from metatide.stack.service import Service
from metatide.stack.state import ProcessState, StackState, StateFile
from metatide.stack.supervisor import Say, Supervisor

ROOM_BYTES = 512 * MIB
_READY_POLL_S = 0.1


def run(effective: Effective, say: Say) -> None:
    """Starts everything, and returns when it has ended after Ctrl-C or SIGTERM."""
    began = time.monotonic()
    config = effective.config
    is_new = not config.data_dir.exists()
    folder = open_data_folder(config)
    if is_new and config.database.url is None:
        let_through(folder)
    os.environ["METATIDE_CACHE_DIR"] = str(config.cache_dir)
    signal.signal(signal.SIGTERM, _interrupt)
    with owned(folder):
        ended = end_orphans(folder)
        if ended:
            say(f"stopped what a killed run had left: {', '.join(ended)}")
        state = StateFile(folder)
        state.remove()
        _check(config)
        say(f"data in {folder}")
        running = services(effective, Ports(folder / "ports.json"))
        for name in {name for service in running for name in service.jar_sets}:
            jars.fetch(name)
        try:
            asyncio.run(_supervise(running, config, state, say, began))
        finally:
            state.remove()
    say("all ended")


def _check(config: Config) -> None:
    """Reports problems of the machine before anything starts."""
    require_room(config.data_dir, ROOM_BYTES)
    if config.secure:
        require_free_choice(config)
        require_programs()
        require_gssapi("--secure")
    if config.http.port:
        require_port(config.http.port, "--http-port", config.http.host)
    if config.thrift.port:
        require_port(config.thrift.port, "--thrift-port", config.thrift.host)
    if config.thrift.http_port:
        require_port(config.thrift.http_port, "thrift.http_port", config.thrift.host)
    servers = config.kafka.bootstrap_servers
    if servers is None:
        find_java()
    elif (fault := KafkaProbe(servers, config.kafka.security).fault()) is not None:
        raise MachineError(f"no Kafka answers at {servers} ({fault}); start it or omit --kafka")
    url = config.database.full_url
    if url is None:
        return
    if (fault := database.fault(unpooled_engine(url))) is not None:
        assert config.database.url is not None
        shown = config.database.url.masked
        raise MachineError(f"no database answers at {shown} ({fault}); start it or omit --database")


async def _supervise(
    running: Sequence[Service], config: Config, state: StateFile, say: Say, began: float
) -> None:
    address = next(service.address for service in running if service.name == "http")
    speakers = [
        service.thrift for service in running if isinstance(service, Ours) and service.thrift
    ]

    def changed(processes: list[ProcessState]) -> None:
        state.write(StackState(os.getpid(), address, processes, _addresses(config)))

    async def ready() -> None:
        await _until_ready(address)
        say(f"ready in {time.monotonic() - began:.1f} s: {address} (Ctrl-C ends it)")
        if speakers:
            uris = ",".join(speakers)
            say(f"clients of a metastore: hive.metastore.uris={uris}")
            for line in Realm(config.data_dir).instructions(uris) if config.secure else ():
                say(line)

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop.set)
    await Supervisor(running, config.data_dir / "logs", say, changed).run(stop, ready)


def _addresses(config: Config) -> dict[str, str]:
    url = config.database.full_url
    addresses = {
        "kafka": config.kafka.bootstrap_servers,
        "database": None if url is None else masked(url),
        "metastore": config.upstream.url,
    }
    return {name: str(address) for name, address in addresses.items() if address is not None}


async def _until_ready(address: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        while True:
            try:
                if (await client.get(f"{address}/readyz", timeout=10)).is_success:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(_READY_POLL_S)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
