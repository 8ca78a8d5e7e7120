"""How much freed memory glibc keeps; both functions do nothing with another C library."""

import ctypes
from collections.abc import Callable
from typing import Final

_LIBRARY: Final = ctypes.CDLL(None)
_TRIM: Final[Callable[[int], int] | None] = getattr(_LIBRARY, "malloc_trim", None)
_OPTION: Final[Callable[[int, int], int] | None] = getattr(_LIBRARY, "mallopt", None)
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_LARGE_BYTES: Final = 1 << 20
_TOP_BYTES_MAX: Final = 32 << 20
_HEAPS_MAX: Final = 2


def give_back_freed_memory() -> None:
    """Gives back what is free in the heaps of glibc.

    Batches of records are taken by one thread and freed by another, which leaves heaps full of
    holes: glibc alone keeps them for good.
    """
    if _TRIM is not None:
        _TRIM(0)


def limit_freed_memory() -> None:
    """Lets glibc keep less of what is freed; for a process that has no other threads yet.

    1. Each large block is a mapping of its own, which goes back when it is freed. glibc does so at
       first. After the first of 8 MB was freed, it takes all up to this size from its heaps, where
       the next answers of another size find no room between those that live on: a process held
       twice the bytes that are in flight. A fixed threshold also fixes the other one, by which
       glibc would shrink a heap at each small change of its end.
    2. All threads share few heaps. glibc would make eight for each core, and what one thread has
       freed in its heap serves no other: RocksDB and librdkafka have a dozen threads, which free
       what others took.
    """
    if _OPTION is not None:
        _OPTION(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        _OPTION(_M_TRIM_THRESHOLD, _TOP_BYTES_MAX)
        _OPTION(_M_ARENA_MAX, _HEAPS_MAX)
