"""The store of a shard: one RocksDB, and its twin in memory."""

from state.store.commits import Commits
from state.store.faults import set_aside
from state.store.memory import MemoryStore
from state.store.metadata import Identity, StorePosition
from state.store.options import Family, MemoryBudget
from state.store.overlay import Overlay
from state.store.reader import ReadOnlyStore
from state.store.snapshot import StoreSnapshot
from state.store.store import Store

__all__ = [
    "Commits",
    "Family",
    "Identity",
    "MemoryBudget",
    "MemoryStore",
    "Overlay",
    "ReadOnlyStore",
    "Store",
    "StorePosition",
    "StoreSnapshot",
    "set_aside",
]
