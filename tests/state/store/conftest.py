"""Stores to try things on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from state.store import Family, Identity, MemoryBudget, Store

IDENTITY = Identity(format_version=1, topic_id="lake", partitions=4, shard=2)
FAMILIES = (
    Family(name="partitions", kinds=b"p", dictionary_bytes=16 * 1024),
    Family(name="statistics", kinds=b"sS"),
)

Opener = Callable[[Path], Store]


@pytest.fixture(scope="session")
def budget() -> MemoryBudget:
    return MemoryBudget(32 * 1024 * 1024)


@pytest.fixture
def opener(budget: MemoryBudget) -> Opener:
    return lambda path: Store(path, IDENTITY, families=FAMILIES, budget=budget)
