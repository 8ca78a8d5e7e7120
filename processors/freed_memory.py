"""Gives memory that was freed back to the system."""

import ctypes
from collections.abc import Callable
from typing import Final

_TRIM: Final[Callable[[int], int] | None] = getattr(ctypes.CDLL(None), "malloc_trim", None)


def give_back_freed_memory() -> None:
    """Gives back what is free in the heaps of glibc; does nothing with another C library.

    Batches of records are taken by one thread and freed by another, which leaves heaps full of
    holes: glibc alone keeps them for good.
    """
    if _TRIM is not None:
        _TRIM(0)
