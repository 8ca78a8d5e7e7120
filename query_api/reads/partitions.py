"""Reads of partitions and of their names."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Final, Generic, NamedTuple, TypeVar, overload

import msgspec

from hive.collation import BY_BYTES, Collation
from hive.errors import InputError, NoSuchObjectError
from hive.filters.partition_filter import by_filter
from hive.filters.semantics import PartitionKey
from hive.names import (
    TableName,
    partition_name,
    partition_names,
    partition_values,
    values_by_name,
    values_of_names,
)
from hive.thrift.binary import decode
from hive.thrift.canonical import is_full_acid
from hive.thrift.splice import acid_partition
from hive.thrift.structs import TABLE
from hive.thrift.view import TableView
from query_api.objects import Objects, Values, WantedNames
from query_api.reads.read import (
    SHORT_MAX,
    ExistingTableRead,
    Group,
    Page,
    Slice,
    cut,
    existing_table,
)
from query_api.remembered import remembered
from query_api.targets import Target, TargetKind

A = TypeVar("A")
_ALL: Final = Page()


class PartitionSelection(msgspec.Struct, frozen=True):
    """A selection of a table's partitions; all of them if nothing is set."""

    names: tuple[str, ...] | None = None
    """The stored names of the selected partitions. One that no partition can have selects none."""
    prefix: Values = ()
    """The first values of the selected partitions; an empty text matches any value."""
    filter: str | None = None
    collation: Collation = BY_BYTES
    """The order by which the filter compares texts."""


class GetPartition(ExistingTableRead[bytes], frozen=True):
    """One partition by its name, whose keys may have another order than the table's."""

    keys: Values
    """In lower case."""
    values: Values

    @property
    def targets(self) -> tuple[Target, ...]:
        return (
            Target(TargetKind.TABLE, self.table),
            Target(TargetKind.PARTITION, self.table, self.values),
        )

    @property
    def group(self) -> Group | None:
        return Group(TargetKind.PARTITION, self.table)

    def further(self, objects: Objects) -> tuple[Target, ...]:
        table = objects.table(self.table)
        if table is None:
            return super().further(objects)
        values = self._in_order(_about(table).keys)
        if values is None or values == self.values:
            return ()
        return (Target(TargetKind.PARTITION, self.table, values),)

    def answer(self, objects: Objects) -> bytes:
        table = existing_table(objects, self.table)
        keys = _about(table).keys
        values = self._in_order(keys)
        data = None if values is None else objects.partition(self.table, values)
        if data is None:
            name = partition_name(self.keys, self.values)
            why = "" if values is not None else f", whose keys are: {', '.join(keys) or 'none'}"
            raise NoSuchObjectError(f"there is no partition {name} of {self.table}{why}")
        return next(iter(_found_by_condition(table, [data])))

    def _in_order(self, keys: Values) -> Values | None:
        """The values in the order of the table's keys; None if the name has other keys."""
        keys = tuple(key.lower() for key in keys)
        if keys == self.keys:
            return self.values
        value_of = dict(zip(self.keys, self.values, strict=True))
        is_same = sorted(keys) == sorted(self.keys)
        return tuple(value_of[key] for key in keys) if is_same else None


class ValuesInNames(Sequence[Values]):
    """The values in the names of a table's partitions. They are parsed as they are asked for: those
    of a million partitions, a day and an hour each, take 170 MB."""

    def __init__(self, keys: Values, names: Sequence[str]) -> None:
        self._keys = keys
        self._names = names

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, index: int) -> Values: ...
    @overload
    def __getitem__(self, index: slice) -> list[Values]: ...
    def __getitem__(self, index: int | slice) -> Values | list[Values]:
        if isinstance(index, int):
            return partition_values(self._names[index])
        return values_of_names(self._keys, self._names[index])


class Chosen(NamedTuple):
    """The partitions that a read chooses."""

    names: list[str]
    """In order."""
    values_of: Callable[[Sequence[str]], Sequence[Values]]
    """Gives the values in some of the names."""


class _Selection(ExistingTableRead[A], Generic[A], frozen=True):
    wanted: PartitionSelection = PartitionSelection()

    @property
    def targets(self) -> tuple[Target, ...]:
        return Target(TargetKind.TABLE, self.table), Target(TargetKind.PARTITIONS, self.table)

    @property
    def is_long(self) -> bool:
        names = self.wanted.names
        return names is None or len(names) > SHORT_MAX

    @property
    def all_partitions_of(self) -> TableName | None:
        return self.table if self.wanted.names is None else None

    def chosen(self, objects: Objects, table: bytes, page: Page = _ALL) -> Chosen:
        """The wanted partitions, at least those of a page and, if there is one, another after it.
        Those that were wanted by name may not exist.
        """
        wanted, keys = self.wanted, self._keys(table)
        if self._are_all:
            if page.limit is None:
                # All of them at once, which is faster than one part after the other.
                names = self._wanted_names(keys, page).read_at_once(objects)
            else:
                names = list(self._sorted_names(objects, keys, page))
            return Chosen(names, partial(ValuesInNames, keys))
        if wanted.names is not None:
            by_name = values_by_name(keys, wanted.names)
        else:
            values = list(self._values(objects, table))
            by_name = dict(zip(partition_names(keys, values), values, strict=True))
        return Chosen(sorted(by_name), lambda names: [by_name[name] for name in names])

    @property
    def _are_all(self) -> bool:
        """Whether all partitions with the prefix are wanted."""
        return self.wanted.names is None and self.wanted.filter is None

    def _sorted_names(self, objects: Objects, keys: Values, page: Page) -> Iterable[str]:
        """The names of all partitions with the prefix, as far as a page needs them."""
        most = None if page.limit is None else page.limit + 1
        names = objects.sorted_partition_names(self._wanted_names(keys, page), most)
        return names if most is None else islice(names, most)

    def _wanted_names(self, keys: Values, page: Page) -> WantedNames:
        return WantedNames(self.table, keys, self.wanted.prefix, page.after)

    def _existing(self, objects: Objects, table: bytes) -> Iterable[Values]:
        """The values of the wanted partitions that exist."""
        values = self._values(objects, table)
        if self.wanted.names is None:
            return values
        return objects.existing_partitions(self.table, list(values))

    def _values(self, objects: Objects, table: bytes) -> Iterable[Values]:
        wanted, keys = self.wanted, self._keys(table)
        if wanted.names is not None:
            return values_by_name(keys, wanted.names).values()
        if wanted.filter is None:
            return objects.partition_values(self.table, wanted.prefix, None)
        columns = _about(table).typed
        chosen = by_filter(wanted.filter, columns, wanted.collation)
        spans = chosen.spans
        # Where a value can't be compared, it has to be read, so that the filter is refused.
        if chosen.plain_spans != spans and objects.are_plain(self.table, columns, chosen.cast):
            spans = chosen.plain_spans
        return filter(chosen.matches, objects.partition_values(self.table, wanted.prefix, spans))

    def _keys(self, table: bytes) -> Values:
        keys = _about(table).keys
        if len(self.wanted.prefix) > len(keys):
            raise InputError(
                f"{len(self.wanted.prefix)} values are given, but {self.table} is partitioned by "
                f"{len(keys)} columns"
            )
        return keys


class ListPartitions(_Selection[Slice[bytes]], frozen=True):
    """Whole partitions, in the order of their names."""

    page: Page = Page()

    def answer(self, objects: Objects) -> Slice[bytes]:
        table = existing_table(objects, self.table)
        if self._are_all and self.page.limit is None:
            data = objects.sorted_partitions(self._wanted_names(self._keys(table), self.page))
            return Slice(self._as_returned(table, data), None)
        chosen = self.chosen(objects, table, self.page)
        page = cut(chosen.names, str, self.page)
        data = objects.partitions(self.table, chosen.values_of(list(page.items)))
        return Slice(self._as_returned(table, data), page.next)

    def _as_returned(self, table: bytes, data: Iterable[bytes]) -> Iterable[bytes]:
        by_condition = self.wanted.filter is not None or any(self.wanted.prefix)
        return _found_by_condition(table, data) if by_condition else data


class ListPartitionNames(_Selection[Slice[str]], frozen=True):
    """The names of partitions, in order."""

    page: Page = Page()

    def answer(self, objects: Objects) -> Slice[str]:
        table = existing_table(objects, self.table)
        if self._are_all and self.page.limit is None:
            return Slice(self._sorted_names(objects, self._keys(table), self.page), None)
        if self.wanted.names is None:
            return cut(self.chosen(objects, table, self.page).names, str, self.page)
        existing = partition_names(_about(table).keys, list(self._existing(objects, table)))
        return cut(sorted(existing), str, self.page)


class CountPartitions(_Selection[int], frozen=True):
    """The number of partitions."""

    def answer(self, objects: Objects) -> int:
        return sum(1 for _ in self._existing(objects, existing_table(objects, self.table)))


class _About(NamedTuple):
    """What reads of partitions need to know of a table."""

    keys: Values
    typed: tuple[PartitionKey, ...]
    full_acid: bool


@remembered(2048)
def _about(table: bytes) -> _About:
    view = TableView(table)
    typed = tuple(
        PartitionKey(field.text(1) or "", field.text(2) or "") for field in view.structs(8)
    )
    full_acid = view.transactional and is_full_acid(decode(TABLE, table)["parameters"])
    return _About(view.partition_keys, typed, full_acid)


def _found_by_condition(table: bytes, partitions: Iterable[bytes]) -> Iterable[bytes]:
    """Partitions as the metastore returns them for values or a filter: those of a full ACID table
    lack the parameters of the serde.
    """
    if not _about(table).full_acid:
        return partitions
    if isinstance(partitions, list):
        # The database's answer: all who asked the same share it.
        return list(map(acid_partition, partitions))
    return map(acid_partition, partitions)
