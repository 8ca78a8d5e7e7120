"""The ordered key-value space that the fold and the readers see, whatever holds it.

Keys and values are bytes, keys are never empty and are ordered as bytes; the first byte of a key
says what kind of entry it is (`state.keys`), and no range crosses kinds.
"""

from collections.abc import Iterator
from typing import Protocol


class View(Protocol):
    """What can be read, all of it from one moment."""

    def get(self, key: bytes) -> bytes | None: ...

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Entries with `start <= key < end`, in order, as they are when this is called.

        Writing while a scan goes on is allowed and doesn't change what the scan gives.
        """
        ...

    def keys(self, start: bytes, end: bytes, most: int) -> list[bytes]:
        """The first keys of that scan, in half of its time."""
        ...


class Transaction(View, Protocol):
    """Changes that become visible to others together, or never; its reads see them at once."""

    def put(self, key: bytes, value: bytes) -> None: ...

    def delete(self, key: bytes) -> None: ...

    def delete_range(self, start: bytes, end: bytes) -> None:
        """Deletes what `scan(start, end)` would give."""
        ...


def after(prefix: bytes) -> bytes:
    """The least key that is greater than every key beginning with `prefix`."""
    stripped = prefix.rstrip(b"\xff")
    assert stripped, "no key is greater than every key of this prefix"
    return stripped[:-1] + bytes((stripped[-1] + 1,))


def in_one_kind(start: bytes, end: bytes) -> bool:
    """Whether a range that isn't empty stays within the keys of one first byte."""
    return start[0] == end[0] or end == bytes((start[0] + 1,))


def scan_prefix(view: View, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Entries whose key begins with `prefix`, in order."""
    return view.scan(prefix, after(prefix))
