"""The process that serves HTTP: `python -m metatide.stack.web`, configured by the environment."""

from collections.abc import Callable
from pathlib import Path

import psutil
import sqlalchemy as sa
import uvicorn

from metatide.config import Config, load
from metatide.stack.database import fault, make_engine
from metatide.stack.kafka import KafkaProbe
from metatide.stack.state import StateFile
from query_api.http import Check, create_status_app


def checks(config: Config) -> list[Check]:
    """What must be well for the stack to be ready."""
    address, url = config.kafka.bootstrap_servers, config.database.full_url
    assert address is not None
    assert url is not None
    return [
        Check("Kafka", KafkaProbe(address, config.kafka.security).fault),
        Check("database", _database(make_engine(url))),
        Check("processes", _processes(config.data_dir)),
    ]


def _database(engine: sa.Engine) -> Callable[[], str | None]:
    return lambda: fault(engine)


def _processes(folder: Path) -> Callable[[], str | None]:
    def check() -> str | None:
        state = StateFile(folder).read()
        if state is None or not psutil.pid_exists(state.pid):
            return "no supervisor runs them"
        down = [f"{one.name} is {one.phase}" for one in state.processes if one.phase != "running"]
        return ", ".join(down) or None

    return check


def main() -> None:
    config = load().config
    uvicorn.run(
        create_status_app(checks(config)),
        host=config.http.host,
        port=config.http.port,
        access_log=False,
        log_level="warning",
    )


if __name__ == "__main__":
    main()
