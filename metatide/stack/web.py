"""The process that serves the stack's HTTP page: `python -m metatide.stack.web`, configured by
the environment.
"""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
import sqlalchemy as sa
import uvloop
from starlette.requests import Request

from hive.reader.engines import unpooled_engine
from metatide.advertised import is_reached_by
from metatide.config import Config, load
from metatide.stack.database import fault
from metatide.stack.kafka import KafkaProbe
from metatide.stack.machine import require_port
from metatide.stack.state import StateFile
from query_api.http import Check, ReadServer, create_status_app


def checks(config: Config) -> list[Check]:
    """The checks that decide whether the stack is ready."""
    address, url = config.kafka.bootstrap_servers, config.database.full_url
    assert address is not None
    assert url is not None
    return [
        Check("Kafka", KafkaProbe(address, config.kafka.security).fault),
        Check("database", _database(unpooled_engine(url))),
        Check("processes", _processes(config.data_dir)),
    ]


def _database(engine: sa.Engine) -> Callable[[], str | None]:
    return lambda: fault(engine)


def worker_page(config: Config) -> Callable[[Request], str | None]:
    """The address of a worker's page; None if no worker runs."""

    def find(request: Request) -> str | None:
        state = StateFile(config.data_dir).read()
        for process in [] if state is None else state.processes:
            if process.name.startswith("worker-") and process.phase == "running":
                url = httpx.URL(process.address).copy_with(path="/")
                # If workers listen on all addresses, the host is the one to which the request was
                # sent.
                name = request.url.hostname
                everywhere = is_reached_by(config.worker.host, name)
                return str(url.copy_with(host=name) if everywhere else url)
        return None

    return find


def _processes(folder: Path) -> Callable[[], str | None]:
    def check() -> str | None:
        state = StateFile(folder).read()
        if state is None or not psutil.pid_exists(state.pid):
            return "no supervisor is running"
        down = [
            f"{process.name} is {process.phase}"
            for process in state.processes
            if process.phase != "running"
        ]
        return ", ".join(down) or None

    return check


async def serve(config: Config) -> None:
    """Serves until a signal arrives."""
    application = create_status_app(checks(config), worker_page(config))
    server = ReadServer(application, config.http.host, config.http.port)

    def stop() -> None:
        server.end()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    await server.serve()


def main() -> None:
    config = load().config
    require_port(config.http.port, "http.port", config.http.host)
    uvloop.run(serve(config))


if __name__ == "__main__":
    main()
