"""Remembers what functions make of objects, in a limited number of bytes."""

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, wraps
from threading import Lock
from typing import Final, Generic, TypeVar

T = TypeVar("T")
SMALL_BYTES_MAX: Final = 4096
LARGE_BYTES_MAX: Final = 8 * 1024 * 1024
"""For all larger objects of a function, with what it made of them."""
_EACH_BYTES_MAX: Final = LARGE_BYTES_MAX // 8


def remembered(count: int) -> Callable[[Callable[[bytes], T]], Callable[[bytes], T]]:
    """Remembers what a function of an object's bytes gave for so many small objects, and for as
    many larger ones as fit into a limit.
    """

    def decorate(function: Callable[[bytes], T]) -> Callable[[bytes], T]:
        of_small, of_large = lru_cache(count)(function), Large(function)

        @wraps(function)
        def remembering(data: bytes) -> T:
            return of_small(data) if len(data) <= SMALL_BYTES_MAX else of_large(data)

        return remembering

    return decorate


class Large(Generic[T]):
    """Remembers what a function gave for the large objects that were used last. Threads may share
    it.
    """

    def __init__(self, function: Callable[[bytes], T]) -> None:
        self._function = function
        self._results: OrderedDict[bytes, T] = OrderedDict()
        self._lock = Lock()
        self.bytes = 0

    def __call__(self, data: bytes) -> T:
        with self._lock:
            if data in self._results:
                self._results.move_to_end(data)
                return self._results[data]
        # Others may look at another object meanwhile, or at the same.
        result = self._function(data)
        size = _size(data, result)
        if size > _EACH_BYTES_MAX:
            return result
        with self._lock:
            if data not in self._results:
                self._results[data] = result
                self.bytes += size
            while self.bytes > LARGE_BYTES_MAX:
                self.bytes -= _size(*self._results.popitem(last=False))
        return result


def _size(data: bytes, result: object) -> int:
    return len(data) + (len(result) if isinstance(result, bytes) and result is not data else 0)
