"""Stores and images of records that aren't those of their topic, as after brokers have lost its end
and others were written in their place."""

from collections.abc import Sequence
from pathlib import Path

from processors.applier import Applier
from state.image import Images, Manifest
from state.records import AnyRecord, Change, Pause, encode
from state.store import MemoryBudget, Store
from state.store.families import SHARD_FAMILIES, shard_identity
from state.topic import Topic

BUDGET = MemoryBudget(32 << 20)
RECORDS: list[AnyRecord] = [Change(0, event, event + 1) for event in range(20)]
OTHERS: list[AnyRecord] = [*RECORDS[:10], Pause(0, 7, paused=True), *RECORDS[10:]]
"""What the topic has after it has lost all but the first ten: an order came, then the same."""


def fold(topic: Topic, path: Path, records: Sequence[AnyRecord]) -> None:
    """Makes the store of the first shard, of these records."""
    identity = shard_identity(topic, 0)
    with Store(path, identity, families=SHARD_FAMILIES, budget=BUDGET) as store:
        applier = Applier(store)
        for offset, record in enumerate(records):
            applier.add(offset, encode(record))
        applier.commit()


def image(topic: Topic, images: Images, folder: Path, records: Sequence[AnyRecord]) -> Manifest:
    """Makes an image of the first shard, of these records."""
    path, identity = folder / f"imaged-{len(records)}", shard_identity(topic, 0)
    fold(topic, path, records)
    with Store(path, identity, families=SHARD_FAMILIES, budget=BUDGET) as store:
        return images.create(store, folder / "scratch")
