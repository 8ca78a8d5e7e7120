"""What statements do to partitions, without a database."""

from collections.abc import Sequence
from itertools import count

from hive.schema import Version
from metatide.demo import partitions
from metatide.demo.changes import Change
from metatide.demo.ids import Ids
from metatide.demo.objects import TableKind
from metatide.demo.records import Record
from metatide.demo.workload import Style, Workload
from tests.metatide.demo import workload_runs


class Nowhere:
    """A sink that keeps nothing."""

    def open_transactions(self, count: int, now_ms: int) -> list[int]:
        raise AssertionError

    def write(self, changes: Sequence[Change], records: Sequence[Record]) -> None:
        pass

    def close(self) -> None:
        pass


def test_a_partition_is_renamed_to_another_name_even_if_its_own_comes_next() -> None:
    blocks = count(1, 1_000_000)
    ids = Ids(lambda *_: next(blocks))
    workload = Workload(ids, Nowhere, Version.V4_1, workload_runs.SMALL, Style())
    actor = workload.actor(1)
    table = actor.make.table(actor.make.database("d"), "t", TableKind.EXTERNAL)
    while not table.keys:
        table = actor.make.table(table.database, "t", TableKind.EXTERNAL)
    partitions.add(actor, table, 1, None)
    (before,) = table.partitions
    # As it is in a table that got the partition by EXCHANGE.
    table.steps = 0
    partitions.rename(actor, table, None)
    (after,) = table.partitions
    assert after != before
