"""The names of a table's partitions in order, without all of them in memory."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from hive.errors import NameFormatError
from hive.names import partition_name, partition_values
from state import keys
from state.kv import after
from state.name_order import Range, earlier_with_greater_names, later_with_lesser_names
from state.partition_names import names_of

KeysOf = Callable[[bytes, bytes, int], list[bytes]]
"""Reads the first keys of a range, so many at most."""
AT_ONCE: Final = 4096
_AT_ONCE_MAX: Final = 1 << 16
_EMPTY_RANGES_MAX: Final = 4096
_NAME_CHARACTERS_MAX: Final = 767
"""The width of the metastore's column. Each character costs looks at several ranges."""


class NamesAfter(NamedTuple):
    """The names greater than one, or than the beginning of one, of the partitions that share some
    first values.
    """

    stem: bytes
    """What the keys of all partitions of the table begin with."""
    columns: tuple[str, ...]
    prefix: tuple[str, ...]
    after: str

    def in_order(self, keys_of: KeysOf, at_once: int = AT_ONCE) -> Iterator[str] | None:
        """The names, of which so many are read at first. None if partitions whose keys come before
        those of all others may belong to them, too: then only the names of all tell.
        """
        start = self.stem + keys.texts(self.prefix)
        if self.after:
            values = self._values_of(self.after)
            if values is None or values[: len(self.prefix)] != self.prefix:
                return None
            columns = len(self.columns)
            for first, end in earlier_with_greater_names(values, len(self.prefix), columns):
                if first < end and keys_of(self.stem + first, self.stem + end, 1):
                    return None
            start = self.stem + keys.texts(values) + (b"\0" if len(values) == columns else b"")
        return chain.from_iterable(self._sorted_batches(start, keys_of, at_once))

    def _sorted_batches(self, start: bytes, keys_of: KeysOf, at_once: int) -> Iterator[list[str]]:
        """Batches of which each ends where no later key has a lesser name."""
        later, names = _LaterKeys(self.stem, keys_of), list[str]()
        end, before_values = after(self.stem + keys.texts(self.prefix)), len(self.stem)
        while start < end:
            at_once = min(at_once, _AT_ONCE_MAX)
            some = keys_of(start, end, at_once)
            own = names_of(self.columns, [key[before_values:] for key in some])
            names += [name for name in own if name > self.after] if self.after else own
            names.sort()
            start = some[-1] + b"\0" if len(some) == at_once else end
            if start < end and names and self._is_any_less(names[-1], start, later):
                at_once = max(AT_ONCE, 2 * len(names))
            else:
                yield names
                at_once, names = AT_ONCE, []

    def _is_any_less(self, name: str, start: bytes, later: "_LaterKeys") -> bool:
        """Whether there may be lesser names among the keys from `start` on."""
        values = self._values_of(name)
        return values is None or later.are_in(
            later_with_lesser_names(values, len(self.prefix)), start
        )

    def _values_of(self, name: str) -> tuple[str, ...] | None:
        """The values in a name or in its first parts, as keys have them; None if it isn't spelled
        as those of the table's partitions are, or is longer than any.
        """
        if len(name) > _NAME_CHARACTERS_MAX:
            return None
        try:
            values = partition_values(name)
            is_own = len(values) <= len(self.columns)
            is_own = is_own and partition_name(self.columns[: len(values)], values) == name
        except NameFormatError:
            return None
        return values if is_own and "\0" not in name and "%00" not in name else None


class _LaterKeys:
    """Looks for keys in ranges, from later and later places on."""

    def __init__(self, stem: bytes, keys_of: KeysOf) -> None:
        self._stem = stem
        self._keys_of = keys_of
        self._empty: set[Range] = set()
        """Where there was no key before, there is none now: most ranges come again and again."""

    def are_in(self, ranges: Iterable[Range], start: bytes) -> bool:
        """Whether there is a key in one of the ranges, at `start` or after it."""
        for each in ranges:
            first, end = max(start, self._stem + each.start), self._stem + each.end
            if first >= end or each in self._empty:
                continue
            if self._keys_of(first, end, 1):
                return True
            if len(self._empty) >= _EMPTY_RANGES_MAX:
                self._empty.clear()
            self._empty.add(each)
        return False
