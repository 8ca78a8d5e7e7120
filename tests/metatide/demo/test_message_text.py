"""Building messages: what we write is what a metastore wrote."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from hive.errors import ThriftError
from hive.events.envelope import GZIP, PLAIN, open_message
from hive.events.message_types import MESSAGE_TYPES, Message
from hive.thrift.binary import decode
from hive.thrift.structs import (
    CHECK_CONSTRAINT,
    COLUMN_STATISTICS,
    DATABASE,
    DEFAULT_CONSTRAINT,
    FOREIGN_KEY,
    FUNCTION,
    NOT_NULL_CONSTRAINT,
    PARTITION,
    PRIMARY_KEY,
    TABLE,
    UNIQUE_CONSTRAINT,
)
from hive.thrift.tjson import loads, transcode
from hive.thrift.types import Struct
from metatide.demo import messages
from tests.hive.events.logs import LOGS, rows


def as_written(struct: Struct, text: str) -> dict[str, Any]:
    """The object of a TJSON text, no rule applied."""
    return decode(struct, transcode(None, text))


def parsed(value: Any) -> Any:
    """A message with its TJSON texts parsed, since the order of their maps means nothing."""
    if isinstance(value, dict):
        return {key: parsed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [parsed(item) for item in value]
    if isinstance(value, str) and value.startswith('{"1":'):
        return parsed(loads(value))
    return value


def table(m: dict[str, Any], field: str = "tableObjJson") -> dict[str, Any]:
    return as_written(TABLE, m[field])


def partitions(m: dict[str, Any]) -> list[dict[str, Any]]:
    return [as_written(PARTITION, text) for text in m["partitionListJson"]]


def truncate(m: dict[str, Any]) -> bool:
    return bool(m["isTruncateOp"] == "true")


def listed(m: dict[str, Any], one: str, other: str) -> list[tuple[Any, Any]]:
    return list(zip(m[one], m[other], strict=True))


REBUILT: dict[str, Callable[[dict[str, Any]], Message]] = {
    "CREATE_DATABASE": lambda m: messages.database(as_written(DATABASE, m["dbJson"])),
    "DROP_DATABASE": lambda m: messages.database(as_written(DATABASE, m["dbJson"])),
    "ALTER_DATABASE": lambda m: messages.alter_database(
        as_written(DATABASE, m["dbObjBeforeJson"]), as_written(DATABASE, m["dbObjAfterJson"])
    ),
    "CREATE_TABLE": lambda m: messages.create_table(table(m)),
    "DROP_TABLE": lambda m: messages.drop_table(table(m)),
    "ALTER_TABLE": lambda m: messages.alter_table(
        table(m, "tableObjBeforeJson"),
        table(m, "tableObjAfterJson"),
        truncate=truncate(m),
        write_id=m["writeId"],
    ),
    "ADD_PARTITION": lambda m: messages.add_partition(table(m), partitions(m)),
    "ALTER_PARTITION": lambda m: messages.alter_partition(
        table(m),
        as_written(PARTITION, m["partitionObjBeforeJson"]),
        as_written(PARTITION, m["partitionObjAfterJson"]),
        truncate=truncate(m),
    ),
    "ALTER_PARTITIONS": lambda m: messages.alter_partitions(
        table(m), partitions(m), truncate=truncate(m)
    ),
    "DROP_PARTITION": lambda m: messages.drop_partition(
        table(m), [list(values.values()) for values in m["partitions"]]
    ),
    "INSERT": lambda m: messages.insert(table(m), as_written(PARTITION, m["ptnObjJson"])),
    "RELOAD": lambda m: messages.reload(table(m), None, refresh=True),
    "CREATE_FUNCTION": lambda m: messages.create_function(
        as_written(FUNCTION, m["functionObjJson"])
    ),
    "DROP_FUNCTION": lambda m: messages.drop_function(m["db"], m["functionName"]),
    "DROP_CONSTRAINT": lambda m: messages.drop_constraint(
        m["dbName"], m["tableName"], m["constraintName"]
    ),
    "OPEN_TXN": lambda m: messages.open_txn(m["fromTxnId"], m["toTxnId"]),
    "COMMIT_TXN": lambda m: messages.commit_txn(m["txnid"], listed(m, "databases", "writeIds")),
    "ABORT_TXN": lambda m: messages.abort_txn(m["txnid"], m["dbsUpdated"], m["writeIds"]),
    "ALLOC_WRITE_ID_EVENT": lambda m: messages.alloc_write_ids(
        m["dbName"], m["tableName"], listed(m, "txnIdList", "writeIdList")
    ),
    "UPDATE_TBL_COL_STAT_EVENT": lambda m: messages.update_table_stats(
        {**table(m), "parameters": m["parameters"]},
        as_written(COLUMN_STATISTICS, m["colStatsJson"]),
        m["writeId"],
    ),
    "UPDATE_PART_COL_STAT_EVENT": lambda m: messages.update_partition_stats(
        table(m),
        {"values": m["partVals"], "parameters": m["parameters"]},
        as_written(COLUMN_STATISTICS, m["colStatsJson"]),
        m["writeId"],
    ),
    "DELETE_TBL_COL_STAT_EVENT": lambda m: messages.delete_table_stats(m["database"], m["colName"]),
    "DELETE_PART_COL_STAT_EVENT": lambda m: messages.delete_partition_stats(
        m["database"], m["partName"], m["partValues"], m["colName"]
    ),
    "COMMIT_COMPACTION_EVENT": lambda m: messages.commit_compaction(
        m["txnid"], m["compactionId"], m["type"], m["dbname"], m["tableName"], m["partName"]
    ),
}
CONSTRAINTS = {
    "ADD_PRIMARYKEY": PRIMARY_KEY,
    "ADD_FOREIGNKEY": FOREIGN_KEY,
    "ADD_UNIQUECONSTRAINT": UNIQUE_CONSTRAINT,
    "ADD_NOTNULLCONSTRAINT": NOT_NULL_CONSTRAINT,
    "ADD_DEFAULTCONSTRAINT": DEFAULT_CONSTRAINT,
    "ADD_CHECKCONSTRAINT": CHECK_CONSTRAINT,
}
LEFT_TO_THE_CALLER = ("files", "partitionFiles", "tableType")


def rebuilt(event_type: str, m: dict[str, Any]) -> Message:
    """The message of the same event, built from its objects."""
    if event_type not in CONSTRAINTS:
        return REBUILT[event_type](m)
    (texts,) = (value for key, value in m.items() if key.endswith("ListJson"))
    items = [as_written(CONSTRAINTS[event_type], text) for text in texts]
    return messages.add_constraints(event_type, items)


@pytest.mark.parametrize("log", LOGS)
def test_every_field_of_a_real_message_is_described(log: str) -> None:
    for row in rows(log):
        message = loads(open_message(row["MESSAGE"], row["MESSAGE_FORMAT"]))
        ours = msgspec.convert(message, MESSAGE_TYPES[row["EVENT_TYPE"]])
        again = msgspec.json.decode(msgspec.json.encode(ours))
        assert {**again, **message} == again


@pytest.mark.parametrize("log", LOGS)
def test_messages_are_built_as_the_metastore_builds_them(log: str) -> None:
    for row in rows(log):
        real = loads(open_message(row["MESSAGE"], row["MESSAGE_FORMAT"]))
        message = rebuilt(row["EVENT_TYPE"], real)
        sealed = messages.seal(message, real["timestamp"], row["MESSAGE_FORMAT"])
        ours = loads(open_message(sealed, row["MESSAGE_FORMAT"]))
        if row["EVENT_TYPE"] == "UPDATE_TBL_COL_STAT_EVENT":
            del real["tableObjJson"], ours["tableObjJson"]
        for field in LEFT_TO_THE_CALLER:
            real.pop(field, None)
            ours.pop(field, None)
        assert parsed(ours) == parsed(real)


def test_a_message_is_sealed_in_both_formats() -> None:
    message = messages.open_txn(3, 5)
    plain = messages.seal(message, 7, PLAIN)
    assert loads(plain) == loads(open_message(messages.seal(message, 7, GZIP), GZIP))
    with pytest.raises(ThriftError, match=r"write json-0\.2 or"):
        messages.seal(message, 7, "xml")


def test_constraints_need_an_event_that_adds_them() -> None:
    with pytest.raises(ThriftError, match="adds no constraints"):
        messages.add_constraints("DROP_TABLE", [])
