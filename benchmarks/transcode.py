"""Decodes rows of NOTIFICATION_LOG to events with canonical Thrift bytes, per second of one core.

The baseline of each figure parses the same message with orjson and does nothing else. The
partitions are about as large as those of a real fleet: 591 bytes of Thrift.
"""

import time
from collections.abc import Callable
from typing import Any

import orjson

from benchmarks.report import print_line
from hive.events.decode import decode
from hive.events.envelope import GZIP, PLAIN, open_message
from hive.events.event_types import AddPartitions
from hive.events.row import NotificationRow
from hive.thrift.binary import encode
from hive.thrift.structs import PARTITION
from metatide.demo.messages import add_partition, alter_table, seal

ROUNDS = 5
SINGLE_MESSAGES = 4_000
BULK_MESSAGES, BULK_PARTITIONS = 4, 5_000

_COLUMNS = [
    {"name": f"column_{i}", "type": type_, "comment": ""}
    for i, type_ in enumerate(["bigint", "string", "double", "timestamp"])
]
_DESCRIPTOR = {
    "cols": _COLUMNS,
    "inputFormat": "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    "outputFormat": "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
    "compressed": False,
    "numBuckets": -1,
    "serdeInfo": {
        "name": "",
        "serializationLib": "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
        "parameters": {"serialization.format": "1"},
    },
    "bucketCols": [],
    "sortCols": [],
    "parameters": {},
    "skewedInfo": {"skewedColNames": [], "skewedColValues": [], "skewedColValueLocationMaps": {}},
    "storedAsSubDirectories": False,
}


def table(number: int) -> dict[str, Any]:
    return {
        "tableName": f"events_{number}",
        "dbName": "lake",
        "owner": "hive",
        "createTime": 1_700_000_000,
        "lastAccessTime": 0,
        "retention": 0,
        "sd": {**_DESCRIPTOR, "location": f"s3a://lake/warehouse/events_{number}"},
        "partitionKeys": [{"name": "ds", "type": "string"}, {"name": "hr", "type": "int"}],
        "parameters": {"transactional": "true", "transient_lastDdlTime": "1700000000"},
        "tableType": "MANAGED_TABLE",
        "catName": "hive",
        "ownerType": 1,
        "writeId": 5,
        "id": number,
    }


def partition(owner: dict[str, Any], number: int) -> dict[str, Any]:
    """A partition as a loader writes it; it differs from others in its numbers."""
    day, hour = f"2024-{number // 24 % 365:03d}", str(number % 24)
    return {
        "values": [day, hour],
        "dbName": owner["dbName"],
        "tableName": owner["tableName"],
        "createTime": 1_700_000_000 + number,
        "lastAccessTime": 0,
        "sd": {**_DESCRIPTOR, "location": f"{owner['sd']['location']}/ds={day}/hr={hour}"},
        "parameters": {"numRows": str(number * 7), "transient_lastDdlTime": str(17 * 10**8)},
        "catName": "hive",
        "writeId": 5,
    }


def row(event_id: int, event_type: str, message: str, message_format: str) -> NotificationRow:
    return NotificationRow(
        event_id, 1_700_000_000, event_type, "hive", "lake", "events", message, message_format
    )


def adds(messages: int, partitions: int, message_format: str) -> list[NotificationRow]:
    """ADD_PARTITION rows over 20 tables."""
    rows = []
    for i in range(messages):
        owner = table(i % 20)
        added = [partition(owner, i * partitions + j) for j in range(partitions)]
        text = seal(add_partition(owner, added), 1_700_000_000, message_format)
        rows.append(row(i + 1, "ADD_PARTITION", text, message_format))
    return rows


def alters(messages: int) -> list[NotificationRow]:
    """ALTER_TABLE rows."""
    rows = []
    for i in range(messages):
        before = table(i % 20)
        after = {**before, "parameters": {**before["parameters"], "k": str(i)}, "writeId": 6}
        text = seal(alter_table(before, after), 1_700_000_000, PLAIN)
        rows.append(row(i + 1, "ALTER_TABLE", text, PLAIN))
    return rows


def parse_only(each: NotificationRow) -> object:
    """The baseline: only parses the message's JSON."""
    return orjson.loads(open_message(each.message, each.message_format))


def seconds_min(work: Callable[[NotificationRow], object], rows: list[NotificationRow]) -> float:
    """The processor time of the best of several rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.process_time()
        for each in rows:
            work(each)
        best = min(best, time.process_time() - begin)
    return best


def measure(name: str, unit: str, rows: list[NotificationRow], count: int) -> None:
    """Measures and prints one figure beside its baseline."""
    print_line(
        benchmark=f"transcode/{name}",
        unit=unit,
        per_second=round(count / seconds_min(decode, rows)),
        orjson_alone_per_second=round(count / seconds_min(parse_only, rows)),
    )


def main() -> None:
    """Prints one JSON object per figure."""
    sample = partition(table(1), 12_345)
    print_line(benchmark="transcode/partition", thrift_bytes=len(encode(PARTITION, sample)))
    bulk = adds(BULK_MESSAGES, BULK_PARTITIONS, PLAIN)
    event = decode(bulk[0])
    assert isinstance(event, AddPartitions)
    assert len(event.partitions) == BULK_PARTITIONS
    singles = SINGLE_MESSAGES
    measure("add_partition", "messages", adds(singles, 1, PLAIN), singles)
    measure("add_partition_gzip", "messages", adds(singles, 1, GZIP), singles)
    measure("add_partition_bulk", "partitions", bulk, BULK_MESSAGES * BULK_PARTITIONS)
    measure("alter_table", "messages", alters(singles), singles)


if __name__ == "__main__":
    main()
