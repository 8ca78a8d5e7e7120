"""Reads while real metastores change the same tables and a worker is killed.

Each write sets the version of a table to the next number. A read is older than it may be if its
version is below that of a write that had finished, or of what a read had shown, before it began.
"""

import os
import random
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import httpx
import pytest

from metatide.client import Client, Need, ServerError, Settings
from tests.support.hive import hms_objects as objects
from tests.support.hive.hms_client import HmsClient
from tests.support.hive.metastore import Instances, MetastoreFactory
from tests.support.processes import open_folder
from tests.support.stacks import Stack, stack

pytestmark = [pytest.mark.hive, pytest.mark.timeout(900)]
DB = "linear"
TABLES = [f"t{number}" for number in range(50)]
WRITERS = 4
READERS = 8
VERSION = "version"
# Machines that run tests have few cores, and workers need some to come back.
WRITE_PAUSE_S = 0.05
READ_PAUSE_S = 0.02


class Truth:
    """What has certainly happened, by tables."""

    def __init__(self) -> None:
        self.locks = {name: threading.Lock() for name in TABLES}
        self.objects: dict[str, Any] = {}
        self.begun = dict.fromkeys(TABLES, 0)
        self.finished = dict.fromkeys(TABLES, 0)
        self.shown = dict.fromkeys(TABLES, 0)
        self.recent = deque([TABLES[0]], maxlen=WRITERS)
        self._showing = threading.Lock()
        self.stop = threading.Event()
        self.faults: list[str] = []
        self.reads: Counter[tuple[str, str]] = Counter()
        self.reasons: Counter[str] = Counter()
        self.writes = 0

    def least(self, table: str) -> int:
        return max(self.finished[table], self.shown[table])

    def show(self, table: str, version: int) -> None:
        with self._showing:
            self.shown[table] = max(self.shown[table], version)


def write(truth: Truth, client: HmsClient, number: int) -> None:
    """Changes any table, one writer a table at a time."""
    choice = random.Random(number)
    while not truth.stop.is_set():
        name = choice.choice(TABLES)
        with truth.locks[name]:
            table = truth.objects[name]
            version = truth.begun[name] = truth.begun[name] + 1
            table.parameters[VERSION] = str(version)
            client.alter_table(DB, name, table)
            truth.finished[name] = version
            truth.recent.append(name)
            truth.writes += 1
        time.sleep(WRITE_PAUSE_S)


def read(truth: Truth, urls: list[str], number: int) -> None:
    """By turns: the latest, at least a position, and a session's own."""
    choice = random.Random(-number)
    with ExitStack() as stack_:
        clients = [stack_.enter_context(Client(url, Settings(retry_s=0))) for url in urls]
        session, versions = clients[number % len(clients)].session(), dict.fromkeys(TABLES, 0)
        while not truth.stop.is_set():
            # What has just been written is what is read too old, if anything.
            name = choice.choice(choice.choice((TABLES, list(truth.recent))))
            how = choice.choice(("latest", "at_least", "session"))
            client = session if how == "session" else choice.choice(clients)
            try:
                if how == "session":
                    least = versions[name]
                    if session.position is None or choice.random() < 0.2:
                        least = truth.finished[name]
                        session.after_write()
                    need = Need("at_least", min_position=session.position)
                elif how == "at_least":
                    least = truth.finished[name]
                    need = Need("at_least", min_position=client.current_event().position)
                else:
                    least = truth.least(name)
                    need = Need("latest")
                answer = client.table(f"{DB}.{name}", need)
            except (httpx.TransportError, ServerError):
                # A worker that is killed hangs up; another one is asked next time.
                time.sleep(0.2)
                continue
            version = int((answer.value.parameters or {})[VERSION])
            if how == "session":
                # What this reader has learnt from another client is not its session's.
                versions[name] = max(versions[name], version)
            if how == "latest":
                truth.show(name, version)
            truth.reads[how, answer.source] += 1
            truth.reasons[answer.reason] += 1
            if not least <= version <= truth.begun[name]:
                truth.faults.append(f"{how}: {name} at {version}, {least} was sure: {answer}")
                truth.stop.set()
            time.sleep(READ_PAUSE_S)


@contextmanager
def running(truth: Truth, metastores: Instances, up: Stack) -> Iterator[None]:
    with ExitStack() as connections:
        clients = [
            connections.enter_context(metastores.connect(number % 2)) for number in range(WRITERS)
        ]
        urls = [up.entry(f"worker-{number}").address for number in (1, 2)]
        work: list[Callable[[], None]] = [
            *(partial(write, truth, client, number) for number, client in enumerate(clients)),
            *(partial(read, truth, urls, number) for number in range(READERS)),
        ]

        def guarded(action: Callable[[], None]) -> None:
            try:
                action()
            except BaseException as error:
                truth.faults.append(repr(error))
                truth.stop.set()
                raise

        threads = [threading.Thread(target=guarded, args=(one,)) for one in work]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            truth.stop.set()
            for thread in threads:
                thread.join(60)


def is_cached(url: str, name: str) -> bool:
    with Client(url) as client:
        try:
            return client.table(f"{DB}.{name}", Need("latest")).source == "cache"
        except (httpx.TransportError, ServerError):
            return False


def run(factory: MetastoreFactory, broker: str, *, rounds: int, seconds: float) -> None:
    truth, metastores = Truth(), factory(instances=2)
    with (
        open_folder() as parent,
        stack(
            parent / "data",
            *("--kafka", broker, "--workers", "2"),
            METATIDE_DATABASE_URL=metastores.database_url,
            METATIDE_KAFKA_TOPIC=f"linear-{rounds}",
            METATIDE_KAFKA_PARTITIONS="4",
            METATIDE_WORKER_SESSION_TIMEOUT_S="6",
        ) as up,
    ):
        with metastores.connect() as client:
            client.create_database(DB)
            for name in TABLES:
                made = objects.table(DB, name, {"id": "bigint"}, transactional=False)
                made.parameters[VERSION] = "0"
                truth.objects[name] = client.create_table(made)
        url = up.entry("worker-1").address
        up.until(lambda: all(is_cached(url, name) for name in TABLES))
        with running(truth, metastores, up):
            for number in range(rounds):
                truth.stop.wait(seconds)
                killed = up.entry(f"worker-{1 + number % 2}")
                if killed.pid is not None and killed.phase == "running":
                    # It comes back by itself, and nobody waits for it.
                    os.kill(killed.pid, signal.SIGKILL)
            truth.stop.wait(seconds)
    assert not truth.faults, truth.faults[:3]
    assert truth.writes > 0
    hows = ("latest", "at_least", "session")
    counts = {how: {s: truth.reads[how, s] for s in ("cache", "database")} for how in hows}
    assert all(found["cache"] for found in counts.values()), (counts, truth.reasons)


def test_nothing_older_than_what_had_happened_is_ever_read(
    metastore_factory: MetastoreFactory, kafka_broker: str
) -> None:
    run(metastore_factory, kafka_broker, rounds=1, seconds=5)


@pytest.mark.torture
def test_the_same_for_longer_and_with_many_kills(
    metastore_factory: MetastoreFactory, kafka_broker: str
) -> None:
    run(metastore_factory, kafka_broker, rounds=12, seconds=15)
