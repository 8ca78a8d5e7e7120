"""Calls about the partitions of a table: the partitions, their names, or their number."""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import lru_cache, partial
from typing import ClassVar, Final

import msgspec

from hive.collation import BY_BYTES, Collation
from hive.errors import UncertainOrderError
from hive.filters.expressions import Comparison, Constant, Operator, comparisons, constants_of
from hive.filters.parser import parse_filter
from hive.names import TableName, partition_name
from hive.thrift.binary import decode, extended
from hive.thrift.splice import acid_partition, without_buckets, without_columns
from hive.thrift.structs import PARTITION
from hive.thrift.view import PartitionView
from query_api.objects import Objects, Values
from query_api.reads import CountPartitions, ListPartitionNames, ListPartitions
from query_api.reads.partitions import PartitionSelection
from query_api.reads.read import SHORT_MAX, Group, Page
from query_api.targets import TargetKind
from query_api.thrift.call import RelayReason
from query_api.thrift.methods.capabilities import partitions_lack_buckets
from query_api.thrift.methods.grouping import grouped
from query_api.thrift.methods.outcome import Items, Outcome, structs, texts
from query_api.thrift.methods.statistics import chosen, described
from query_api.thrift.methods.statistics_compliance import columns_with_statistics
from query_api.thrift.methods.table_method import StatisticsOnRequest
from query_api.thrift.methods.table_traits import TableTraits, table_traits

_WHOLE_MAX: Final = 1000
"""Longer lists of partitions are streamed."""


class Of(Enum):
    """What a call returns of each partition."""

    OBJECTS = 0
    NAMES = 1
    NUMBER = 2
    SPECS = 3
    """Whole partitions, in groups that share a storage descriptor."""


class Partitions(StatisticsOnRequest, frozen=True, kw_only=True):
    """Partitions in the order of their names."""

    needs: ClassVar[tuple[TargetKind, ...]] = (TargetKind.PARTITIONS,)
    wanted: PartitionSelection = PartitionSelection()
    names: tuple[str, ...] | None = None
    """The names of exactly the partitions to return, instead of a selection."""
    most: int | None = None
    of_each: Of = Of.OBJECTS
    by_values: bool = False
    by_query: bool = False
    """Whether the call has a condition, even one that matches everything."""
    with_privileges: bool = False
    """Whether privileges are requested. Partitions have privileges only if the table says so."""
    without_columns: bool = False
    capabilities: tuple[str, ...] = ()
    is_ordered: bool = True
    """Whether the metastore returns the partitions in a defined order."""
    collation: Collation = BY_BYTES
    """The collation of the metastore's database."""

    @property
    def group(self) -> Group | None:
        if self.with_database or self.engine is not None:
            return None
        return Group(TargetKind.PARTITIONS, self.table)

    @property
    def is_long(self) -> bool:
        return self.names is None or len(self.names) > SHORT_MAX

    @property
    def all_partitions_of(self) -> TableName | None:
        return self.table if self.names is None else None

    def of(self, table: bytes, objects: Objects) -> Outcome:
        traits = table_traits(table)
        if self.with_privileges and traits.has_partition_privileges:
            return RelayReason.FORM
        if self.by_values and not _tells_values(self.wanted.prefix, len(traits.keys)):
            return RelayReason.FORM
        if self.collation.on_mysql and _fails_on_mysql(self.wanted.filter, traits.timestamp_keys):
            return RelayReason.FORM
        try:
            return self._chosen(table, traits, objects)
        except UncertainOrderError:
            return RelayReason.COLLATION

    def _chosen(self, table: bytes, traits: TableTraits, objects: Objects) -> Outcome:
        wanted = self.wanted if self.names is None else PartitionSelection(names=self.names)
        wanted = msgspec.structs.replace(wanted, collation=self.collation)
        if self.of_each is Of.NUMBER:
            return CountPartitions(self.table, wanted).answer(objects).to_bytes(4)
        if self.of_each is Of.NAMES:
            names = ListPartitionNames(self.table, wanted, self._page).answer(objects)
            return texts(self._first(names.items))
        shown = self._shown(traits, objects)
        if isinstance(shown, RelayReason):
            return shown
        chosen = ListPartitions(self.table, wanted).chosen(objects, table, self._page)
        values = chosen.values_of(self._first(chosen.names))
        partitions = map(shown, objects.partitions(self.table, values))
        if self.of_each is Of.SPECS:
            return grouped(self.table, table, partitions)
        if self.names is None and len(values) > _WHOLE_MAX:
            return Items(len(values), partitions)
        return structs(list(partitions))

    @property
    def _page(self) -> Page:
        """What is needed of the sorted names: whether a metastore might choose others than the
        first by their bytes, only all of them tell.
        """
        return Page(limit=self.most) if self.collation.by_bytes else Page()

    def _first(self, names: Iterable[str]) -> Sequence[str]:
        """The first of these sorted names, up to the limit of the call.

        Raises UncertainOrderError if the metastore might choose other names, or another order.
        """
        all_names = list(names)
        chosen = all_names[: self.most]
        if (self.is_ordered or len(chosen) < len(all_names)) and not self.collation.keeps(
            all_names
        ):
            raise UncertainOrderError(f"{self.collation.name} decides the order of names")
        return chosen

    def _shown(
        self, traits: TableTraits, objects: Objects
    ) -> Callable[[bytes], bytes] | RelayReason:
        """A function that turns a stored partition into the one that the caller sees."""
        hides_buckets = partitions_lack_buckets(self.capabilities, traits)
        if isinstance(hides_buckets, RelayReason):
            return hides_buckets
        changes: list[Callable[[bytes], bytes]] = []
        if traits.full_acid and (self.by_query or self.by_values):
            changes.append(acid_partition)
        if hides_buckets:
            changes.append(partial(without_buckets, PARTITION))
        if self.without_columns:
            changes.append(without_columns)
        if self.engine is not None:
            changes.append(partial(self._with_statistics, self.engine, traits.keys, objects))
        return _chain(changes)

    def _with_statistics(
        self, engine: str, keys: Values, objects: Objects, partition: bytes
    ) -> bytes:
        values = PartitionView(partition).values
        columns = columns_with_statistics(decode(PARTITION, partition)["parameters"])
        ((_, figures),) = objects.partition_statistics(self.table, [values])
        of_columns = chosen(figures, columns, engine)
        if not of_columns:
            return partition
        statistics = described(self.table, partition_name(keys, values), of_columns)
        return extended(PARTITION, partition, colStats=statistics)


@lru_cache(maxsize=64)
def _fails_on_mysql(filter_text: str | None, timestamp_keys: frozenset[str]) -> bool:
    """Whether a metastore can't run this filter in its own SQL on MySQL, where it writes an escape
    character of LIKE that isn't valid, and refuses timestamps. The way it then takes compares all
    values as texts, and reads whole serdes.

    Or it compares a text with blanks at its end or control characters, for which MySQL has an order
    of its own: it compares texts as if blanks followed the shorter one.
    """
    return filter_text is not None and any(
        compared.key in timestamp_keys
        or (isinstance(compared, Comparison) and compared.operator is Operator.LIKE)
        or any(map(_is_padded_otherwise, constants_of(compared)))
        for compared in comparisons(parse_filter(filter_text))
    )


def _is_padded_otherwise(constant: Constant) -> bool:
    return isinstance(constant, str) and (
        constant.endswith(" ") or any(character < " " for character in constant)
    )


def _tells_values(prefix: Values, keys: int) -> bool:
    """Whether this list stands for complete values, rather than prefixes as a shorter list does."""
    return len(prefix) == keys or (len(prefix) < keys and not any(prefix[-1:]))


def _chain(changes: Iterable[Callable[[bytes], bytes]]) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        for apply in changes:
            data = apply(data)
        return data

    return change
