"""Waits until everything is warm again, and compares stores with fresh replays of the topic."""

import shutil
import time
from pathlib import Path
from typing import Final

from hive.errors import MetatideError
from metatide.cli.digest import _digests
from processors.replay import rebuild
from state.store import MemoryBudget
from state.topic import TopicClient
from tests.torture.history import TABLES
from tests.torture.parts import Parts
from tests.torture.reading import Session
from tests.torture.stand import CONNECTORS, SHARDS, TOPIC, WORKERS, Stand

SETTLED_S: Final = 240.0
_POLL_S: Final = 0.1


def seconds_until_warm(parts: Parts) -> float | None:
    """How long it took until both workers answered for each table from the cache; None if they
    still don't.
    """
    began = time.monotonic()
    sessions = [
        Session(parts.stand.port(worker), parts.writers.database.name) for worker in WORKERS
    ]
    left = [(session, name) for session in sessions for name in TABLES]
    while time.monotonic() - began < SETTLED_S:
        for session, name in list(left):
            answer = session.version(name, "consistency=latest")
            if answer is None:
                break
            if answer[1]:
                left.remove((session, name))
        if not left:
            return round(time.monotonic() - began, 2)
        time.sleep(_POLL_S)
    return None


def lost_events(parts: Parts) -> list[str]:
    """Tables whose last write a worker lacks. Nobody writes."""
    lost = []
    for worker in WORKERS:
        session = Session(parts.stand.port(worker), parts.writers.database.name)
        for name in TABLES:
            answer = session.version(name, "consistency=latest")
            stored = parts.writers.stored(name)
            if answer is not None and answer[0] != stored:
                lost.append(f"{worker}: {name} at {answer[0]}, {stored} is stored")
    return lost


def differences(stand: Stand, *, exact: bool) -> list[str]:
    """Shards of which a worker holds something else than a fresh replay. All connectors and workers
    are ended and started again.
    """
    for name in (*CONNECTORS, "mix"):
        stand.programs[name].end()
    stores = _stores_at_end(stand)
    for name in WORKERS:
        stand.programs[name].end()
    topic, different = stand.topic(), []
    for shard, path in stores.items():
        fresh = stand.folder / "fresh"
        shutil.rmtree(fresh, ignore_errors=True)
        rebuild(topic, shard, fresh, MemoryBudget(64 << 20))
        held, replayed = _digests(path), _digests(fresh)
        both = held["content"].keys() & replayed["content"].keys()
        names = [
            name
            for name in both
            if held["content"][name]
            and replayed["content"][name]
            and held["content"][name] != replayed["content"][name]
        ]
        if names or (exact and held["exact"] != replayed["exact"]):
            different.append(f"shard {shard}: {names[:5]}, exact {held['exact']}")
    for name in (*CONNECTORS, *WORKERS, "mix"):
        stand.programs[name].start()
    return different


def _stores_at_end(stand: Stand) -> dict[int, Path]:
    """The store of each shard's owner, once all of them are at the end of the topic."""
    deadline = time.monotonic() + SETTLED_S
    while True:
        paths: dict[int, Path] = {}
        try:
            ends = TopicClient(stand.brokers.addresses(), TOPIC).ends(range(SHARDS))
        except MetatideError:
            ends = {}
        for worker in WORKERS:
            status = stand.status(worker)
            for shard in status["shards"] if status is not None and status["ready"] else ():
                if shard["offset"] == ends.get(shard["shard"]):
                    paths[shard["shard"]] = stand.directory(worker).store(shard["shard"])
        if len(paths) == SHARDS:
            return paths
        assert time.monotonic() < deadline, [stand.status(worker) for worker in WORKERS]
        time.sleep(_POLL_S)
