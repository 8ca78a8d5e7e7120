"""Waits until everything is warm again, and compares stores with fresh replays of the topic."""

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hive.errors import MetatideError
from metatide.cli.digest import _digests
from processors.replay.replay import rebuild
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
    are ended and started again; unless `exact`, with the replayed stores, so that the next
    comparison can be exact.
    """
    for name in (*CONNECTORS, "mix"):
        stand.programs[name].end()
    stores = _stores_at_end(stand)
    # Stores have no log: a killed worker loses what wasn't flushed, which is no difference.
    different = [
        f"{name} doesn't end by itself"
        for name in WORKERS
        if not stand.programs[name].end(SETTLED_S)
    ]
    topic = stand.topic()
    for shard, path in stores.items():
        fresh = stand.folder / "fresh"
        shutil.rmtree(fresh, ignore_errors=True)
        rebuild(topic, shard, fresh, MemoryBudget(64 << 20))
        why = difference(_digests(path), _digests(fresh), exact=exact)
        if why is not None:
            different.append(f"shard {shard}: {why}")
        if not exact:
            shutil.rmtree(path)
            shutil.move(fresh, path)
    for name in (*CONNECTORS, *WORKERS, "mix"):
        stand.programs[name].start()
    return different


def difference(ours: Mapping[str, Any], replayed: Mapping[str, Any], *, exact: bool) -> str | None:
    """In what the digests of a store differ from those of a fresh replay."""
    if ours["offset"] < replayed["offset"]:
        return f"the store ends at offset {ours['offset']}, the topic at {replayed['offset']}"
    if exact and ours["offset"] > replayed["offset"]:
        return (
            f"the brokers have lost records: the store ends at offset {ours['offset']}, the topic "
            f"at {replayed['offset']}"
        )
    contents = ours["content"], replayed["content"]
    names = [
        name
        for name in contents[0].keys() & contents[1].keys()
        if None not in (own := (contents[0][name], contents[1][name])) and own[0] != own[1]
    ]
    if names:
        return f"readers see another {', '.join(sorted(names)[:5])}"
    if exact and ours["exact"] != replayed["exact"]:
        return f"other bytes: {ours['exact']}, not {replayed['exact']}"
    return None


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
