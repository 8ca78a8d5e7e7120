"""What is left to metastores because of their database."""

import msgspec
import pytest

from hive.reader.collation import of_mysql
from hive.thrift import requests
from hive.thrift.binary import decode, encode
from hive.thrift.structs import TABLE
from query_api.thrift.call import CallAnswer, Relay, RelayReason
from tests.query_api.shards import MemoryShard, MemoryShards, change, load_table, table_image
from tests.query_api.thrift.methods.cached_calls import EVENT, cached, call, now, shards


@pytest.mark.parametrize(
    ("filter_", "type_", "is_left"),
    [
        ("ds LIKE 'b.%'", "string", True),
        ("ds = 'a1' OR (ds >= 'b' AND ds LIKE '%1')", "string", True),
        ("ds = 'b1'", "string", False),
        ("ds = 'b1 ' or ds = 'b2'", "string", True),
        ("(ds) IN ('b1', 'b2 ')", "string", True),
        ("ds < 'b\t1'", "string", True),
        ("ds = ' b 1'", "string", False),
        ("ds >= '2024-01-01'", "date", False),
        ("ds >= '2024-01-01 00:00:00'", "timestamp", True),
        ("(ds) IN ('2024-01-01 00:00:00', '2024-01-02 00:00:00')", "timestamp", True),
        ("", "timestamp", False),
    ],
)
def test_a_filter_that_mysql_cannot_run_is_left_to_metastores_on_it(
    filter_: str, type_: str, *, is_left: bool
) -> None:
    image = table_image(managed=False)
    table = decode(TABLE, image.data)
    table["partitionKeys"][0]["type"] = type_
    image = msgspec.structs.replace(image, data=encode(TABLE, table))
    source = MemoryShards(MemoryShard(change(EVENT, after=0), *load_table(EVENT, table=image)))
    place = {"db_name": "sales", "tbl_name": "orders"}
    questions = [
        call("get_partitions_by_filter", filter=filter_, max_parts=-1, **place),
        call("get_num_partitions_by_filter", filter=filter_, **place),
    ]
    elsewhere, on_mysql = cached(source), cached(source)
    on_mysql.set_collation(of_mysql("utf8mb4_bin"))
    for question in questions:
        assert isinstance(now(elsewhere, question), CallAnswer)
        outcome = now(on_mysql, question)
        assert isinstance(outcome, Relay) == is_left
        assert not is_left or outcome.reason is RelayReason.FORM


@pytest.mark.parametrize(
    ("collation", "ending", "is_left"),
    [
        ("latin1_bin", " ", True),
        ("latin1_bin", "漢", True),
        ("latin1_bin", "é", False),
        ("utf8mb4_bin", "漢", False),
        ("utf8mb4_bin", " ", True),
    ],
)
def test_names_that_mysql_reads_otherwise_are_left_to_metastores_on_it(
    collation: str, ending: str, *, is_left: bool
) -> None:
    table = {"dbName": "sales", "tblName": "orders", "catName": "hive"}
    place = {"db_name": "sales", "tbl_name": "orders"}
    of_table = [
        {**table, "colNames": ["amount", f"amount{ending}"]},
        {**table, "colNames": ["amount"], "engine": f"hive{ending}"},
    ]
    questions = [
        *(
            call("get_table_statistics_req", request=encode(requests.TABLE_STATISTICS, request))
            for request in of_table
        ),
        *(
            call(
                "get_partitions_statistics_req",
                request=encode(
                    requests.PARTITION_STATISTICS, {**request, "partNames": ["ds=00001"]}
                ),
            )
            for request in of_table
        ),
        call("get_table_column_statistics", **place, col_name=f"amount{ending}"),
        call("get_partitions_by_names", **place, names=["ds=00002", f"ds=00001{ending}"]),
    ]
    elsewhere, on_mysql = cached(shards()), cached(shards())
    on_mysql.set_collation(of_mysql(collation))
    for question in questions:
        assert isinstance(now(elsewhere, question), CallAnswer)
        outcome = now(on_mysql, question)
        assert isinstance(outcome, Relay) == is_left
        assert not is_left or outcome.reason is RelayReason.COLLATION


@pytest.mark.parametrize("blank", ["", " "])
def test_a_partition_named_with_a_blank_at_its_end_is_left_to_metastores_on_mysql(
    blank: str,
) -> None:
    """It takes that for the one without the blank."""
    place = {"db_name": "sales", "tbl_name": "orders"}
    name, values = f"ds=00001{blank}", [f"00001{blank}"]
    of_statistics = {
        "dbName": "sales",
        "tblName": "orders",
        "colNames": ["amount"],
        "partNames": [name],
    }
    request = encode(requests.PARTITION_STATISTICS, of_statistics)
    questions = [
        call("get_partition", part_vals=values, **place),
        call("get_partition_by_name", part_name=name, **place),
        call("get_partitions_by_names", names=["ds=00002", name], **place),
        call("get_partitions_statistics_req", request=request),
    ]
    elsewhere, on_mysql = cached(shards()), cached(shards())
    on_mysql.set_collation(of_mysql("utf8mb4_bin"))
    for question in questions:
        assert isinstance(now(elsewhere, question), CallAnswer)
        outcome = now(on_mysql, question)
        if blank:
            assert isinstance(outcome, Relay)
            assert outcome.reason is RelayReason.COLLATION
        else:
            assert isinstance(outcome, CallAnswer)
