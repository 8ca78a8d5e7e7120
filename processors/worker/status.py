"""The status of a worker."""

import time

from msgspec import Struct

from processors.worker.shard import Shard
from processors.worker.worker import Worker


class UnreadableRecord(Struct, frozen=True):
    """A record of the topic that can't be read: its shard stops there."""

    offset: int
    reason: str


class ShardStatus(Struct, frozen=True):
    """A shard of a worker: what it does, and how far it is."""

    shard: int
    phase: str
    fault: str | None
    epoch: int
    event_id: int
    offset: int
    lag_records: int
    lag_ms: int
    """The milliseconds until the oldest record of the last live batch became readable."""
    image_age_s: float | None
    unreadable: UnreadableRecord | None = None


class WorkerStatus(Struct, frozen=True):
    """One worker and its shards."""

    name: str
    group: str
    address: str
    ready: bool
    fault: str | None
    up_s: float
    disk_bytes: int
    memory_bytes: int
    load_requests_waiting: int
    shards: list[ShardStatus]


def worker_status(worker: Worker) -> WorkerStatus:
    """Gathers the status without reading the stores."""
    settings = worker.settings
    return WorkerStatus(
        settings.name,
        settings.group,
        settings.address,
        worker.ready,
        worker.limits.fault,
        round(time.monotonic() - worker.began_s, 3),
        worker.limits.disk_bytes,
        worker.limits.memory_bytes,
        worker.load_requests_waiting,
        [_shard_status(worker.shards[number]) for number in sorted(worker.shards)],
    )


def _shard_status(shard: Shard) -> ShardStatus:
    position, stopped = shard.position, shard.unreadable
    return ShardStatus(
        shard.number,
        shard.phase,
        shard.fault,
        position.epoch,
        position.applied,
        position.offset,
        max(0, shard.end - position.offset),
        round(shard.lag_s * 1000),
        None if shard.image_made_s is None else round(time.time() - shard.image_made_s, 1),
        None if stopped is None else UnreadableRecord(stopped.offset, stopped.reason),
    )
