"""The ordered key-value space that the fold and the readers see, whatever stores it.

Keys and values are bytes, keys are never empty and are ordered as bytes; the first byte of a key
gives the kind of its entry (`state.keys`), and no range crosses kinds.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol


class View(Protocol):
    """A readable state, all of it from one moment."""

    def get(self, key: bytes) -> bytes | None: ...

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Entries with `start <= key < end`, in order, as they are at the time of the call.

        Writing during a scan is allowed and doesn't change its result.
        """
        ...

    def keys(self, start: bytes, end: bytes, most: int) -> list[bytes]:
        """The first keys that `scan` would return, `most` at most, in half the time."""
        ...

    def values(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """What `get` would return for each of these keys of one kind; faster for keys that follow
        each other in the store."""
        ...


class Transaction(View, Protocol):
    """Changes that become visible to others together, or never; its own reads see them at once."""

    def put(self, key: bytes, value: bytes) -> None: ...

    def put_all(self, entries: Iterable[tuple[bytes, bytes]]) -> None:
        """Puts many entries in half the time."""
        ...

    def delete(self, key: bytes) -> None: ...

    def delete_range(self, start: bytes, end: bytes) -> None:
        """Deletes what `scan(start, end)` would return."""
        ...


def after(prefix: bytes) -> bytes:
    """The least key greater than every key that begins with `prefix`."""
    stripped = prefix.rstrip(b"\xff")
    assert stripped, "no key is greater than every key of this prefix"
    return stripped[:-1] + bytes((stripped[-1] + 1,))


def in_one_kind(start: bytes, end: bytes) -> bool:
    """Whether a range that isn't empty stays within the keys of one first byte."""
    return start[0] == end[0] or end == bytes((start[0] + 1,))


def scan_prefix(view: View, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The entries whose keys begin with `prefix`, in order."""
    return view.scan(prefix, after(prefix))


def delete_prefix(txn: Transaction, prefix: bytes) -> None:
    """Deletes the entries whose keys begin with `prefix`."""
    txn.delete_range(prefix, after(prefix))
