"""Keys drawn at random from all there are: equally often, or by Zipf's law."""

from bisect import bisect
from collections.abc import Callable
from itertools import accumulate
from random import Random
from typing import Final

KINDS: Final = ("uniform", "zipf")
_STRIDE: Final = 1_000_003
"""A prime, so that consecutive ranks belong to keys that are far apart, and each key has one."""


def drawing(kind: str, count: int, seed: int = 1) -> Callable[[], int]:
    """A function that draws numbers below `count`. With `zipf` the key of rank n is drawn with a
    probability proportional to 1/n.
    """
    random = Random(seed)
    if kind == "uniform":
        return lambda: random.randrange(count)
    weights = list(accumulate(1 / rank for rank in range(1, count + 1)))
    return lambda: bisect(weights, random.random() * weights[-1]) * _STRIDE % count
