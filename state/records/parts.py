"""Cuts large events into numbered parts.

The cut must not depend on the publisher: when two connectors publish the same event, their parts
are mixed. So the cut is a rule of the format, not an option.
"""

from collections.abc import Iterator

import msgspec

from state.records.actions import AnyAction, DropPartitions, PutPartitions
from state.records.envelopes import Change

PART_BYTES_MAX = 1 << 20
"""A part of about this size is full: the next item opens another."""
ITEM_BYTES = 64
"""The approximate overhead of an item beside its bytes."""


def split(change: Change) -> list[Change]:
    """The change as one record, or as several that fold to the same state."""
    assert change.parts == 1
    groups: list[list[AnyAction]] = [[]]
    size = 0
    for action, bytes_ in _pieces(change.actions):
        if groups[-1] and size + bytes_ > PART_BYTES_MAX:
            groups.append([])
            size = 0
        groups[-1].append(action)
        size += bytes_
    parts = len(groups)
    if parts == 1:
        return [change]
    return [
        msgspec.structs.replace(change, actions=tuple(group), part=part, parts=parts)
        for part, group in enumerate(groups)
    ]


def _pieces(actions: tuple[AnyAction, ...]) -> Iterator[tuple[AnyAction, int]]:
    for action in actions:
        match action:
            case PutPartitions():
                sizes = [len(partition.data) for partition in action.partitions]
            case DropPartitions():
                sizes = [sum(map(len, values)) for values in action.partitions]
            case _:
                yield action, ITEM_BYTES
                continue
        for start, stop, bytes_ in _runs(sizes):
            yield msgspec.structs.replace(action, partitions=action.partitions[start:stop]), bytes_


def _runs(sizes: list[int]) -> Iterator[tuple[int, int, int]]:
    start = bytes_ = 0
    for at, size in enumerate(sizes):
        if at > start and bytes_ + size + ITEM_BYTES > PART_BYTES_MAX:
            yield start, at, bytes_
            start, bytes_ = at, 0
        bytes_ += size + ITEM_BYTES
    yield start, len(sizes), bytes_
