"""The pure fold: topic records over an ordered key-value view."""

from processors.fold.shard import Fold
from processors.fold.signals import Signal

__all__ = ["Fold", "Signal"]
