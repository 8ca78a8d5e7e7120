"""Stores that are filled without a topic."""

from processors.fold import Fold
from state.records import Change
from state.store import Store, StorePosition


def fold(store: Store, change: Change) -> None:
    """Folds and commits a change, as if its event were its offset."""
    transaction = store.transaction()
    folding = Fold(transaction)
    folding.apply(change)
    folding.flush()
    store.commit(transaction, StorePosition(0, change.upto, change.upto))
