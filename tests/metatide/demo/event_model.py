"""What the events of a log tell: a model of the end that reads messages and no other rows.

Objects are mappings from Thrift field ids to values, as the messages number them.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.metatide.demo.workload_runs import Event

Struct = dict[str, Any]
Name = tuple[str, str]
Values = tuple[str, ...]


def opened(text: str) -> Struct:
    """An object of a message, without TJSON's types."""
    return {id_: _value(typed) for id_, typed in json.loads(text).items()}


def _value(typed: Mapping[str, Any]) -> Any:
    ((kind, raw),) = typed.items()
    if kind == "rec":
        return {id_: _value(inner) for id_, inner in raw.items()}
    if kind == "lst":
        return [_value({raw[0]: member}) for member in raw[2:]]
    return raw[3] if kind == "map" else raw


@dataclass(eq=False)
class Table:
    """A table and what hangs on it."""

    struct: Struct
    partitions: dict[Values, Struct] = field(default_factory=dict)
    statistics: dict[str, Struct] = field(default_factory=dict)
    partition_statistics: dict[Values, dict[str, Struct]] = field(default_factory=dict)
    constraints: dict[str, "Table | None"] = field(default_factory=dict)
    """By name; a foreign key's with the table that it refers to."""
    columns: list[Any] = field(default_factory=list)
    """All lists of columns that it had: CASCADE brings any of them to partitions."""
    retyped: set[str] = field(default_factory=set)
    dropped: bool = False

    @property
    def managed(self) -> bool:
        return bool(self.struct["12"] == "MANAGED_TABLE")

    @property
    def name(self) -> Name:
        return self.struct["2"], self.struct["1"]


class EventModel:
    """The end of the log's story."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.databases: dict[str, Struct] = {}
        self.functions: dict[Name, Struct] = {}
        self.tables: dict[Name, Table] = {}
        self.transactions: dict[int, str] = {}
        self.write_ids: dict[Name, dict[int, int]] = {}
        silent = ("INSERT", "RELOAD", "COMMIT_COMPACTION_EVENT")
        for event in events:
            if event.type not in silent:
                tell: Callable[[Event, Struct], None] = getattr(self, f"_{event.type.lower()}")
                tell(event, event.message)

    def _create_database(self, event: Event, message: Struct) -> None:
        self.databases[message["db"]] = opened(message["dbJson"])

    def _alter_database(self, event: Event, message: Struct) -> None:
        assert self.databases[message["db"]]["4"] == opened(message["dbObjBeforeJson"])["4"]
        self.databases[message["db"]] = opened(message["dbObjAfterJson"])

    def _drop_database(self, event: Event, message: Struct) -> None:
        del self.databases[message["db"]]
        assert not any(db == message["db"] for db, _ in [*self.tables, *self.functions])

    def _create_function(self, event: Event, message: Struct) -> None:
        function = opened(message["functionObjJson"])
        self.functions[message["db"], function["1"]] = function

    def _drop_function(self, event: Event, message: Struct) -> None:
        del self.functions[message["db"], message["functionName"]]

    def _create_table(self, event: Event, message: Struct) -> None:
        struct = opened(message["tableObjJson"])
        table = Table(struct | {"19": max(struct["19"], 0)}, columns=[struct["7"]["1"]])
        assert table.name not in self.tables
        self.tables[table.name] = table

    def _alter_table(self, event: Event, message: Struct) -> None:
        before = opened(message["tableObjBeforeJson"])
        after = opened(message["tableObjAfterJson"])
        table = self.tables.pop((before["2"], before["1"]))
        assert_same(table.struct, before, ("4", "7", "8", "9", "12", "19", "25"))
        assert (event.database, event.table) == (after["2"], after["1"])
        table.struct = after
        self.tables[table.name] = table
        if table.managed and table.name != (before["2"], before["1"]):
            ids = self.write_ids.pop((before["2"], before["1"]), None)
            if ids is not None:
                self.write_ids[table.name] = ids
            for partition in table.partitions.values():
                partition["6"]["2"] = partition["6"]["2"].replace(before["7"]["2"], after["7"]["2"])
        if before["7"]["1"] != after["7"]["1"]:
            self._change_columns(table, before, after)

    def _change_columns(self, table: Table, before: Struct, after: Struct) -> None:
        table.columns.append(after["7"]["1"])
        types = {column["1"]: column["2"] for column in after["7"]["1"]}
        for column in before["7"]["1"]:
            if types[column["1"]] != column["2"]:
                table.retyped.add(column["1"])
                table.statistics.pop(column["1"], None)

    def _drop_table(self, event: Event, message: Struct) -> None:
        struct = opened(message["tableObjJson"])
        table = self.tables.pop((struct["2"], struct["1"]))
        assert_same(table.struct, struct, ("4", "7", "8", "9", "12", "19", "25"))
        table.dropped = True
        if table.managed:
            self.write_ids.pop(table.name, None)

    def _table(self, event: Event) -> Table:
        assert event.database
        assert event.table
        return self.tables[event.database, event.table]

    def _add_partition(self, event: Event, message: Struct) -> None:
        table = self._table(event)
        for text, named in zip(message["partitionListJson"], message["partitions"], strict=True):
            partition = opened(text)
            values = tuple(partition["1"])
            assert values == tuple(named.values())
            assert values not in table.partitions
            table.partitions[values] = partition | {"10": 0}

    def _alter_partition(self, event: Event, message: Struct) -> None:
        table = self._table(event)
        before = opened(message["partitionObjBeforeJson"])
        after = opened(message["partitionObjAfterJson"])
        old = table.partitions.pop(tuple(before["1"]))
        assert_same(old, before, ("4", "7"))
        assert (old["10"] or -1) == before["10"]
        table.partitions[tuple(after["1"])] = after | {"10": max(after["10"], 0)}
        if before["1"] != after["1"]:
            table.partition_statistics.pop(tuple(before["1"]), None)

    def _alter_partitions(self, event: Event, message: Struct) -> None:
        table = self._table(event)
        for text in message["partitionListJson"]:
            after = opened(text)
            assert tuple(after["1"]) in table.partitions
            table.partitions[tuple(after["1"])] = after | {"10": max(after["10"], 0)}

    def _drop_partition(self, event: Event, message: Struct) -> None:
        table = self._table(event)
        for named in message["partitions"]:
            del table.partitions[tuple(named.values())]
            table.partition_statistics.pop(tuple(named.values()), None)

    def _update_tbl_col_stat_event(self, event: Event, message: Struct) -> None:
        table = self._table(event)
        table.statistics |= _figures(message)
        table.struct["9"] = message["parameters"]
        if message["writeId"] > 0:
            table.struct["19"] = message["writeId"]

    def _update_part_col_stat_event(self, event: Event, message: Struct) -> None:
        table, values = self._table(event), tuple(message["partVals"])
        table.partition_statistics.setdefault(values, {}).update(_figures(message))
        table.partitions[values]["7"] = message["parameters"]
        if message["writeId"] > 0:
            table.partitions[values]["10"] = message["writeId"]

    def _delete_tbl_col_stat_event(self, event: Event, message: Struct) -> None:
        _forget(self._table(event).statistics, message["colName"])

    def _delete_part_col_stat_event(self, event: Event, message: Struct) -> None:
        statistics = self._table(event).partition_statistics
        _forget(statistics[tuple(message["partValues"])], message["colName"])

    def _add_constraint(self, event: Event, message: Struct) -> None:
        ((constraint,),) = (value for key, value in message.items() if key.endswith("ListJson"))
        ids = {"ADD_PRIMARYKEY": "5", "ADD_NOTNULLCONSTRAINT": "5"}
        name = opened(constraint)[ids.get(event.type, "6")]
        self._table(event).constraints[name] = None

    _add_primarykey = _add_uniqueconstraint = _add_notnullconstraint = _add_constraint
    _add_defaultconstraint = _add_checkconstraint = _add_constraint

    def _add_foreignkey(self, event: Event, message: Struct) -> None:
        (constraint,) = message["foreignKeyListJson"]
        key = opened(constraint)
        child, parent = self.tables[key["4"], key["5"]], self._table(event)
        assert parent.name == (key["1"], key["2"])
        child.constraints[key["10"]] = parent

    def _drop_constraint(self, event: Event, message: Struct) -> None:
        table = self.tables[message["dbName"], message["tableName"]]
        del table.constraints[message["constraintName"]]

    def _open_txn(self, event: Event, message: Struct) -> None:
        for txn in range(message["fromTxnId"], message["toTxnId"] + 1):
            assert txn not in self.transactions
            self.transactions[txn] = "o"

    def _alloc_write_id_event(self, event: Event, message: Struct) -> None:
        ids = self.write_ids.setdefault((message["dbName"], message["tableName"]), {})
        for txn, write_id in zip(message["txnIdList"], message["writeIdList"], strict=True):
            assert self.transactions[txn] == "o"
            assert write_id == len(ids) + 1
            ids[txn] = write_id

    def _commit_txn(self, event: Event, message: Struct) -> None:
        if message["writeIds"] is not None:
            named = list(zip(message["databases"], message["writeIds"], strict=True))
            assert sorted(named) == sorted(self._writes(message["txnid"]))
        self._end(message["txnid"], "c")

    def _abort_txn(self, event: Event, message: Struct) -> None:
        if message["writeIds"] is not None:
            writes = self._writes(message["txnid"])
            assert sorted(message["writeIds"]) == sorted(write_id for _, write_id in writes)
        self._end(message["txnid"], "a")

    def _writes(self, txn: int) -> list[tuple[str, int]]:
        return [(db, ids[txn]) for (db, _), ids in self.write_ids.items() if txn in ids]

    def _end(self, txn: int, state: str) -> None:
        assert self.transactions[txn] == "o"
        self.transactions[txn] = state


def assert_same(one: Mapping[str, Any], other: Mapping[str, Any], ids: Iterable[str]) -> None:
    assert {id_: one[id_] for id_ in ids} == {id_: other[id_] for id_ in ids}


def _figures(message: Struct) -> dict[str, Struct]:
    statistics = opened(message["colStatsJson"])
    return {each["1"]: each | {"analyzed": statistics["1"]["5"]} for each in statistics["2"]}


def _forget(statistics: dict[str, Struct], column: str | None) -> None:
    if column is None:
        statistics.clear()
    else:
        del statistics[column]
