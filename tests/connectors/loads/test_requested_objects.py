"""The objects that workers asked for, until a connector reads them, and the records they take."""

from connectors.loads.chunks import CHUNK_BYTES_MAX
from connectors.loads.rereads import OBJECTS_MAX, TABLES_MAX, RequestedObjects, _chunks
from hive.names import table_name
from state.records.objects import PartitionImage

TABLE = table_name(None, "db", "t")


def test_objects_are_taken_once_and_in_order() -> None:
    requested = RequestedObjects()
    requested.add(TABLE, [("b",), ()])
    requested.add(TABLE, [("a",), ("b",)])
    assert requested.take(TABLE) == [(), ("a",), ("b",)]
    assert requested.take(TABLE) == []


def test_there_is_room_for_so_many_objects_of_a_table() -> None:
    requested = RequestedObjects()
    for _ in range(2):
        requested.add(TABLE, [(str(number),) for number in range(OBJECTS_MAX + 1)])
    assert len(requested.take(TABLE)) == OBJECTS_MAX


def test_there_is_room_for_so_many_tables() -> None:
    requested = RequestedObjects()
    for number in range(TABLES_MAX):
        requested.add(TABLE._replace(table=f"t{number}"), [()])
    requested.add(TABLE, [()])
    assert requested.take(TABLE) == []
    assert requested.take(TABLE._replace(table="t0")) == [()]


def test_rows_that_are_too_large_for_one_record_come_in_several() -> None:
    sizes = {("a",): CHUNK_BYTES_MAX // 2, ("b",): CHUNK_BYTES_MAX // 2, ("c",): 1, ("e",): 1}
    rows: dict[tuple[str, ...], PartitionImage] = {
        values: PartitionImage(values, 0, 1, bytes(size)) for values, size in sizes.items()
    }
    values = [(value,) for value in "abcde"]
    chunks = list(_chunks(values, rows))
    assert [value for chunk in chunks for value in chunk] == values
    assert [len(chunk) for chunk in chunks] == [1, 4]
