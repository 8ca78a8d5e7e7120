"""Records that are folded in one batch."""

from collections.abc import Iterable

from processors.fold import Fold
from state.kv import Transaction
from state.records import AnyRecord


def folded_into(transaction: Transaction, records: Iterable[AnyRecord]) -> Fold:
    """What the transaction has become by them."""
    fold = Fold(transaction)
    for record in records:
        fold.apply(record)
    fold.flush()
    return fold
