"""Which epoch may come after which."""

from typing import Final

EPOCH_JUMP_MAX: Final = 1 << 20
"""How far a record's epoch may lie above its shard's. Connectors begin epochs one by one, and a
shard misses hardly any: what lies further away was forged or damaged."""


def follows(epoch: int, last: int) -> bool:
    """Whether an epoch comes after the last one: it is higher by no more than the bound, or so
    much lower that the last one can't have been begun by a connector."""
    return is_later(epoch, last) or epoch < last - EPOCH_JUMP_MAX


def is_later(epoch: int, last: int) -> bool:
    """Whether an epoch is higher than the last one, by no more than the bound."""
    return 0 < epoch - last <= EPOCH_JUMP_MAX
