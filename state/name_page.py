"""A page of the names of a table's partitions, without a look at all of them."""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from hive.errors import NameFormatError
from hive.names import partition_name, partition_values
from state import keys
from state.kv import after
from state.name_order import Range, earlier_with_greater_names, later_with_lesser_names
from state.partition_names import names_of

KeysOf = Callable[[bytes, bytes, int], list[bytes]]
"""Reads the first keys of a range, so many at most."""
_AT_ONCE_MAX: Final = 4096


class NamePage(NamedTuple):
    """The least names greater than one, of the partitions that share some first values."""

    stem: bytes
    """What the keys of all partitions of the table begin with."""
    columns: tuple[str, ...]
    prefix: tuple[str, ...]
    after: str
    most: int

    def names(self, keys_of: KeysOf) -> list[str] | None:
        """The names, in order. None if partitions whose keys lie elsewhere belong to them, too:
        then only the names of all tell.
        """
        start = of_prefix = self.stem + keys.texts(self.prefix)
        if self.after:
            values = self._values_of(self.after)
            if values is None or values[: len(self.prefix)] != self.prefix:
                return None
            earlier = earlier_with_greater_names(values, len(self.prefix))
            if self._is_any(earlier, keys_of):
                return None
            start = self.stem + keys.texts(values) + b"\0"
        names: list[str] = []
        end = after(of_prefix)
        while start < end and len(names) < self.most:
            at_once = min(_AT_ONCE_MAX, self.most - len(names))
            some = keys_of(start, end, at_once)
            own = names_of(self.columns, [key[len(self.stem) :] for key in some])
            names += [name for name in own if name > self.after]
            start = some[-1] + b"\0" if len(some) == at_once else end
        names.sort()
        if start < end and self._is_any_less(names[-1], start, keys_of):
            return None
        return names

    def _is_any_less(self, name: str, start: bytes, keys_of: KeysOf) -> bool:
        """Whether there may be lesser names among the keys from `start` on."""
        values = self._values_of(name)
        if values is None:
            return True
        later = later_with_lesser_names(values, len(self.prefix))
        return self._is_any(later, keys_of, start)

    def _values_of(self, name: str) -> tuple[str, ...] | None:
        """The values in a name, as keys have them; None if it isn't spelled as those of the table's
        partitions are.
        """
        try:
            values = partition_values(name)
            is_own = len(values) == len(self.columns)
            is_own = is_own and partition_name(self.columns, values) == name
        except NameFormatError:
            return None
        return values if is_own and "\0" not in name and "%00" not in name else None

    def _is_any(self, ranges: Iterable[Range], keys_of: KeysOf, start: bytes = b"") -> bool:
        return any(
            keys_of(max(start, self.stem + first), self.stem + end, 1)
            for first, end in ranges
            if max(start, self.stem + first) < self.stem + end
        )
