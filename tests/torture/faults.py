"""The faults: how each is put in and taken away. What must hold is the same for all: no wrong
answer meanwhile, and warm again afterwards.
"""

import errno
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final

from metatide.stack.postgres import connect
from tests.torture.history import TABLES
from tests.torture.parts import Parts
from tests.torture.stand import CONNECTORS, WORKERS
from tests.torture.writing import VERSION

LONG_S: Final = 30.0
DAY_S: Final = 86_400
BROKER_NAMES: Final = ("broker-1", "broker-2", "broker-3")
Hurt = Callable[[Parts, Random], AbstractContextManager[None]]


@dataclass(frozen=True)
class Fault:
    """A kind of fault, and for how long it stays."""

    name: str
    hurt: Hurt
    seconds: tuple[float, float] = (0.5, 4.0)
    cheap: bool = False
    """Whether the short run puts it in, too."""

    needs_disk: bool = False
    loses_records: bool = False
    """Whether brokers may lose what they acknowledged: then stores may hold more than the topic."""

    last_words: str | None = None
    """What a process prints that can't go on."""


@contextmanager
def killed(names: tuple[str, ...], parts: Parts, random: Random) -> Iterator[None]:
    with parts.stand.programs[random.choice(names)].away():
        yield


@contextmanager
def stopped(names: tuple[str, ...], parts: Parts, random: Random) -> Iterator[None]:
    with parts.stand.programs[random.choice(names)].stopped():
        yield


@contextmanager
def changed_link(
    clients: tuple[str, ...], target: str, how: str, parts: Parts, random: Random
) -> Iterator[None]:
    """Between a client and brokers, database or workers."""
    client = random.choice(clients)
    way = (client, target) if (client, target) in parts.stand.ways else (target, client)
    if how == "delay":
        parts.stand.change_links(way, delay_s=random.choice((0.02, 0.1, 0.5)))
    else:
        parts.stand.change_links(way, **{how: True})
    yield
    parts.stand.change_links(way)


@contextmanager
def unclean_leader(parts: Parts, random: Random) -> Iterator[None]:
    """Two replicas sleep until a third has records alone; it dies, and one of the two leads."""
    names = list(BROKER_NAMES)
    random.shuffle(names)
    last, *sleeping = (parts.stand.programs[name] for name in names)
    with sleeping[0].stopped(), sleeping[1].stopped():
        time.sleep(8)
        last.hold()
        last.kill()
    yield
    last.start()


@contextmanager
def rebalanced(parts: Parts, random: Random) -> Iterator[None]:
    """A third worker comes and goes."""
    third = parts.stand.worker("worker-3")
    third.start()
    yield
    if random.random() < 0.5:
        third.kill()
    third.end()


@contextmanager
def full_disk(parts: Parts, random: Random) -> Iterator[None]:
    filler = parts.stand.folder / WORKERS[0] / "filler"
    try:
        with filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 20))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    yield
    filler.unlink()


@contextmanager
def read_only_disk(parts: Parts, random: Random) -> Iterator[None]:
    """The worker is started on a file system that nobody can write to."""
    program, path = parts.stand.programs[WORKERS[0]], parts.stand.folder / WORKERS[0]
    with program.away():
        subprocess.run(["mount", "-o", "remount,ro", path], check=True)
    yield
    with program.away():
        subprocess.run(["mount", "-o", "remount,rw", path], check=True)


@contextmanager
def lost_stores(parts: Parts, random: Random) -> Iterator[None]:
    worker = random.choice(WORKERS)
    with parts.stand.programs[worker].away():
        shutil.rmtree(parts.stand.directory(worker).path, ignore_errors=True)
        yield


@contextmanager
def corrupt_files(parts: Parts, random: Random) -> Iterator[None]:
    """Some bytes of a worker's SSTs are others."""
    worker = random.choice(WORKERS)
    with parts.stand.programs[worker].away():
        for path in parts.stand.directory(worker).path.rglob("*.sst"):
            if random.random() < 0.5:
                with path.open("r+b") as file:
                    file.seek(random.randrange(max(1, path.stat().st_size - 64)))
                    file.write(random.randbytes(64))
        yield


@contextmanager
def lost_log(parts: Parts, random: Random) -> Iterator[None]:
    """The cleaner deletes events that no connector has read."""
    with ExitStack() as stack:
        for name in CONNECTORS:
            stack.enter_context(parts.stand.programs[name].away())
        yield
        with connect(parts.stand.url) as connection:
            connection.execute('DELETE FROM "NOTIFICATION_LOG"')


@contextmanager
def restored_database(parts: Parts, random: Random) -> Iterator[None]:
    """The database is again as it was some seconds ago."""
    mix, database = parts.stand.programs["mix"], str(parts.stand.url.database)
    mix.end()
    with parts.writers.paused():
        versions = {name: parts.truth.tables[name].last for name in TABLES}
        with parts.stand.alone(database) as connection:
            connection.execute(f'CREATE DATABASE saved TEMPLATE "{database}"')
    yield
    # A metastore has ids in hand, which a restored database hands out again.
    with parts.stand.programs["metastore"].away(), parts.writers.paused():
        for name, version in versions.items():
            parts.truth.tables[name].begin(version)
        with parts.stand.alone(database) as connection:
            connection.execute(f'ALTER DATABASE "{database}" RENAME TO gone')
            connection.execute(f'ALTER DATABASE saved RENAME TO "{database}"')
            connection.execute("DROP DATABASE gone")
        parts.truth.restores += 1
        for history in parts.truth.tables.values():
            history.finish()
        parts.writers.restored(versions)
    mix.start()


@contextmanager
def long_transaction(parts: Parts, random: Random) -> Iterator[None]:
    """Somebody holds the lock of the sequence."""
    with connect(parts.stand.url) as connection, connection.transaction(force_rollback=True):
        connection.execute('SELECT * FROM "NOTIFICATION_SEQUENCE" FOR UPDATE')
        yield


@contextmanager
def broken_transaction(parts: Parts, random: Random) -> Iterator[None]:
    """A metastore dies after it has written, before it commits."""
    connection = connect(parts.stand.url)
    connection.execute("BEGIN")
    # In the order of metastores: in another one, theirs and this one would wait for each other.
    connection.execute(
        'UPDATE "TABLE_PARAMS" SET "PARAM_VALUE" = %s WHERE "PARAM_KEY" = %s', ["-7", VERSION]
    )
    connection.execute('UPDATE "NOTIFICATION_SEQUENCE" SET "NEXT_EVENT_ID" = "NEXT_EVENT_ID" + 1')
    yield
    connection.pgconn.finish()


@contextmanager
def jumping_clock(names: tuple[str, ...], parts: Parts, random: Random) -> Iterator[None]:
    clock = parts.stand.clock(random.choice(names))
    clock.write_text(str(random.choice((-DAY_S, -3600, -30, 30, 3600, DAY_S))))
    yield
    clock.unlink()


def _links(
    clients: tuple[str, ...], target: str, who: str, *, loses_records: bool = False
) -> tuple[Fault, ...]:
    """`loses_records` if the link is silent or cut."""
    silent, cut, slow = (
        partial(changed_link, clients, target, how) for how in ("silent", "cut", "delay")
    )
    return (
        Fault(f"{who}: silent", silent, (2, 12), loses_records=loses_records),
        Fault(f"{who}: cut", cut, (1, 8), loses_records=loses_records),
        Fault(f"{who}: slow", slow, (2, 8), cheap=True),
    )


def _signals(names: tuple[str, ...], who: str) -> tuple[Fault, ...]:
    return (
        Fault(f"{who}: SIGKILL", partial(killed, names), (0, 4), cheap=True),
        Fault(f"{who}: SIGSTOP", partial(stopped, names), (1, 12)),
    )


FAULTS: Final = (
    *_signals(WORKERS, "a worker"),
    *_signals(CONNECTORS, "a connector"),
    *_signals(BROKER_NAMES, "a broker"),
    *_signals(("database",), "the database"),
    *_signals(("metastore",), "the metastore"),
    *_links(WORKERS, "brokers", "a worker's way to the brokers"),
    *_links(CONNECTORS, "brokers", "a connector's way to the brokers"),
    # A broker that leads alone meanwhile may be replaced by one that lacks what it has
    # acknowledged.
    *_links(BROKER_NAMES, "brokers", "a broker's way to the others", loses_records=True),
    *_links(WORKERS, "database", "a worker's way to the database"),
    *_links(CONNECTORS, "database", "a connector's way to the database"),
    *_links(WORKERS, "workers", "the way to a worker"),
    Fault("brokers: unclean leader", unclean_leader, (1, 4), loses_records=True),
    Fault("workers: rebalance", rebalanced, (4, 12)),
    Fault("a worker: full disk", full_disk, (2, 8), cheap=True, needs_disk=True),
    Fault(
        "a worker: read-only disk",
        read_only_disk,
        (2, 6),
        needs_disk=True,
        last_words="metatide: cannot write in the folder",
    ),
    Fault("a worker: lost stores", lost_stores, (0, 3), cheap=True),
    Fault("a worker: corrupt SSTs", corrupt_files, (0, 3), cheap=True),
    Fault("the log: events deleted unread", lost_log, (1, 4), cheap=True),
    Fault("the database: restored", restored_database, (1, 5), cheap=True),
    Fault("the sequence: locked for 30 s", long_transaction, (LONG_S, LONG_S)),
    Fault("a metastore: killed in a transaction", broken_transaction, (0.5, 2), cheap=True),
    Fault("a worker: clock jumps", partial(jumping_clock, WORKERS), (1, 5), cheap=True),
    Fault("a connector: clock jumps", partial(jumping_clock, CONNECTORS), (1, 5), cheap=True),
)
