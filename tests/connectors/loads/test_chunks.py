"""Numbers of chunks: whoever shares a load, there is one of each in the end."""

from hypothesis import given
from hypothesis import strategies as st

from connectors.loads.chunks import Load
from connectors.log.last_event import LastEvent
from hive.names import table_name
from state.records import AnyRecord, LoadEnd, LoadRows, Scope, ScopeKind
from state.records.objects import NameImage

SCOPE = Scope(ScopeKind.TABLE, table_name(None, "d", "t"))


class RecordList:
    shards = 1

    def __init__(self) -> None:
        self.records: list[AnyRecord] = []

    def send(self, shard: int, record: AnyRecord, row_hash: bytes | None = None) -> None:
        self.records.append(record)

    def flush(self) -> None:
        pass


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_places_fill_up_to_one_row_of_numbers(chunks: list[int]) -> None:
    sink = RecordList()
    for place, count in enumerate(chunks):
        part = Load(sink, 0, "load", SCOPE, place, len(chunks))
        part.read_at(3)
        for number in range(count):
            part.add("names", [NameImage(f"{place}.{number}", "", "", None, 1)])
            part.flush()
        assert part.chunks == count
        part.fill(max(chunks))
    part.end(LastEvent(7))
    *rows, end = sink.records
    numbers = [one.number for one in rows if isinstance(one, LoadRows)]
    assert end == LoadEnd(0, "load", SCOPE, 3, 7, len(numbers))
    assert sorted(numbers) == list(range(len(numbers)))
    names = [one.table for row in rows if isinstance(row, LoadRows) for one in row.rows.names]
    assert len(set(names)) == len(names) == sum(chunks)
