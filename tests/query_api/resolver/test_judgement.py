"""Each target of a read is read from the snapshot in which it was judged."""

import pytest

from hive.names import table_name
from query_api.facts import Facts
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.resolver.decision import Verdict
from query_api.resolver.judgement import Judgement, reader_of
from query_api.targets import Target, TargetKind
from state.shard_reader import ShardReader
from tests.query_api.shards import SALES, MemoryShard

HERE = Position(0, 1)


def judged(target: Target) -> Judgement:
    verdict = Verdict(Reason.FRESH, HERE)
    return Judgement(target, Facts(HERE), verdict, MemoryShard().reader(), shard=0)


@pytest.mark.parametrize("count", [1, 3, 40])
def test_targets_of_a_table_share_a_snapshot_however_many_there_are(count: int) -> None:
    tables = [table_name(None, "sales", f"t{number}") for number in range(count)]
    names = Target(TargetKind.NAMES, SALES.table(""))
    judgements = [judged(Target(TargetKind.TABLE, table)) for table in tables]
    again = judged(Target(TargetKind.PARTITIONS, tables[0]))
    read = reader_of([*judgements, judged(names), again])
    readers: list[ShardReader] = []
    for table, judgement in zip(tables, judgements, strict=True):
        assert read(Target(TargetKind.TABLE, table)) is judgement.reader
        assert read(Target(TargetKind.PARTITION, table, ("v",))) is judgement.reader
        readers.append(read(Target(TargetKind.PARTITIONS, table)))
    assert read(names) not in readers
    with pytest.raises(AssertionError, match="was not judged"):
        read(Target(TargetKind.FUNCTIONS, names.name))
