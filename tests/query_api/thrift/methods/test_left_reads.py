"""What is left to metastores with other settings than Hive's own."""

from query_api.thrift.call import CallAnswer, Relay, RelayReason
from query_api.thrift.methods.left_reads import LeftReads
from query_api.thrift.methods.partition_specs import PartitionSpecs
from tests.query_api.shards import ORDERS, MemoryShards
from tests.query_api.thrift.methods.cached_calls import (
    by_expression,
    cached,
    call,
    get_table,
    now,
    reason,
)


def test_a_limit_is_left_to_metastores_that_order_partitions_otherwise(
    source: MemoryShards,
) -> None:
    place = {"db_name": "sales", "tbl_name": "orders"}
    limited = [
        call("get_partitions", **place, max_parts=2),
        call("get_partition_names", **place, max_parts=2),
        call("get_partitions_ps", **place, part_vals=["00001"], max_parts=2),
        call("get_partitions_by_filter", **place, filter="ds = '00001'", max_parts=2),
    ]
    others = [
        get_table(),
        call("get_partitions", **place, max_parts=-1),
        call("get_partition_names", **place, max_parts=-1),
        call("get_partitions_by_names", **place, names=["ds=00001"]),
    ]
    cache = cached(source)
    assert all(isinstance(now(cache, asked), CallAnswer) for asked in (*limited, *others))
    cache.leave(LeftReads(limits=True))
    assert {reason(now(cache, asked)) for asked in limited} == {RelayReason.ORDER}
    assert all(isinstance(now(cache, asked), CallAnswer) for asked in others)


def test_partitions_are_left_to_metastores_that_find_or_show_them_otherwise(
    source: MemoryShards,
) -> None:
    place = {"db_name": "sales", "tbl_name": "orders"}
    filtered = [
        call("get_partitions_by_filter", **place, filter="ds = '00001'", max_parts=-1),
        call("get_num_partitions_by_filter", **place, filter="ds = '00001'"),
        by_expression(b"ds = '00001'"),
    ]
    shown = [
        call("get_partitions", **place, max_parts=-1),
        call("get_partitions_ps", **place, part_vals=["00001"], max_parts=-1),
        call("get_partitions_by_names", **place, names=["ds=00001"]),
    ]
    others = [
        call("get_partition_names", **place, max_parts=-1),
        call("get_num_partitions_by_filter", **place, filter=""),
        call("get_partition", **place, part_vals=["00001"]),
        get_table(),
    ]
    for left, are_left in (
        (LeftReads(), []),
        (LeftReads(filters=True), filtered),
        (LeftReads(filters=True, partitions=True), [*filtered, *shown]),
    ):
        cache = cached(source)
        cache.leave(left)
        for question in (*filtered, *shown, *others):
            outcome = now(cache, question)
            assert isinstance(outcome, Relay) == (question in are_left), question
            assert isinstance(outcome, CallAnswer) or outcome.reason is RelayReason.PARTITIONS
    specs = PartitionSpecs(ORDERS, missing=RelayReason.FORM)
    assert LeftReads(partitions=True).why(specs) is RelayReason.PARTITIONS
    assert LeftReads(filters=True).why(specs) is None
