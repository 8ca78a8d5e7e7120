"""Who shares a read, and that nobody uses one that began before the request came."""

import asyncio
import threading
from collections.abc import Sequence
from itertools import count

from hypothesis import example, given
from hypothesis import strategies as st

from hive.errors import SourceError
from hive.events.row import row_mark
from hive.names import table_name
from query_api.latest import SharedRead, ThinRow
from query_api.latest.log_history import COMPARED_ROWS, LogHistory
from query_api.latest.row_effects import RowEffects
from query_api.latest.sequence import Tail
from query_api.latest.shared_read import SHORT_CHARS_MAX
from query_api.positions import Position
from query_api.targets import Target, TargetKind

TABLES = 4


class Primary:
    """Counts its reads, and answers when it is let."""

    def __init__(self) -> None:
        self.event = 10
        self.began = 0
        self.first_events: list[int] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.fails = False

    async def read(self, first: int, messages_after: int) -> Tail:
        self.began += 1
        self.first_events.append(first)
        event = self.event
        async with asyncio.timeout(10):
            await self.may_answer.wait()
        if self.fails:
            raise SourceError("it is gone")
        return Tail(event, [])


async def until_begun(primary: Primary, began: int) -> None:
    while primary.began < began:
        await asyncio.sleep(0.001)


async def test_all_that_wait_share_one_read() -> None:
    primary = Primary()
    index = SharedRead(primary.read, LogHistory())
    logs = await asyncio.gather(*(index.after_now(Position(0, n)) for n in range(100)))
    assert {log.current for log in logs if log} == {10}
    assert primary.first_events == [0]
    await index.close()


async def test_nobody_uses_a_read_that_began_before() -> None:
    primary = Primary()
    primary.may_answer.clear()
    index = SharedRead(primary.read, LogHistory())
    early = asyncio.create_task(index.after_now(Position(0, 5)))
    await until_begun(primary, 1)
    primary.event = 11
    late = [asyncio.create_task(index.after_now(Position(0, 5))) for _ in range(10)]
    await asyncio.sleep(0.01)
    primary.may_answer.set()
    first, *rest = await asyncio.gather(early, *late)
    assert first is not None
    assert first.current == 10
    assert {log.current for log in rest if log} == {11}
    assert primary.began == 2
    await index.close()


async def test_a_lone_request_doesnt_wait_for_another_read() -> None:
    primary = Primary()
    index = SharedRead(primary.read, LogHistory())
    for number in range(1, 21):
        await index.after_now(Position(0, 5))
        assert primary.began == index.reads == number
    await index.close()


async def test_what_takes_long_to_decode_is_decoded_elsewhere() -> None:
    """Meanwhile others are served."""
    long = "x" * SHORT_CHARS_MAX
    rows = [
        ThinRow(n, 1, "ALTER_TABLE", "hive", "d", "t", long if n == 2 else "{}", None)
        for n in (1, 2)
    ]
    threads: dict[int, str] = {}

    class History(LogHistory):
        def note(
            self, epoch: int, rows: Sequence[ThinRow], remembered: range = range(0)
        ) -> list[tuple[int, RowEffects]]:
            threads[len(rows)] = threading.current_thread().name
            return super().note(epoch, rows, remembered)

    async def read(first: int, messages_after: int) -> Tail:
        return Tail(2, [row for row in rows if row.event_id <= first])

    index = SharedRead(read, History())
    for event in (1, 2):
        log = await index.after_now(Position(0, event))
        assert log is not None
        assert log.current == 2
    assert threads[1] == threading.main_thread().name
    assert threads[2] != threading.main_thread().name
    await index.close()


class Database:
    """A log that is written, read and put back; each row has a time of its own."""

    def __init__(self) -> None:
        self.rows: list[ThinRow] = []
        self.read_rows: list[int] = []
        self._times = count(1)

    def write(self, table: int) -> None:
        event, time_s = len(self.rows) + 1, next(self._times)
        self.rows.append(ThinRow(event, time_s, "INSERT", None, "d", f"t{table}", "", None))

    def last_of(self, table: int) -> int:
        """The last event of a table."""
        name = f"t{table}"
        return max((row.event_id for row in self.rows if row.tbl_name == name), default=0)

    async def read(self, first: int, messages_after: int) -> Tail:
        rows = [row for row in self.rows if row.event_id >= first]
        self.read_rows.append(len(rows))
        return Tail(len(self.rows), rows)


async def blocked(index: SharedRead, applied: int) -> dict[int, bool]:
    """For each table, whether something more recent than what a shard has applied may concern
    it."""
    log = await index.after_now(Position(0, applied))
    assert log is not None
    return {
        table: log.about(
            Target(TargetKind.TABLE, table_name(None, "d", f"t{table}")), applied
        ).blocked
        is not None
        for table in range(TABLES)
    }


steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, TABLES - 1)),
        st.tuples(st.just("read"), st.integers(0, 40)),
        st.tuples(st.just("restore"), st.integers(1, 40)),
    ),
    max_size=120,
)


LOST_BESIDE_A_GAP = [
    *[("write", 0)] * 20,
    ("read", 10),
    ("restore", 3),
    *[("write", 1)] * 3,
    *[("write", 3)] * 2,
    ("read", 1),
    *[("write", 2)] * 8,
    ("read", 8),
    ("read", 13),
]
"""Rows that nothing shows to follow those before them aren't remembered together."""


@given(steps)
@example(LOST_BESIDE_A_GAP)
def test_what_is_remembered_hides_nothing(steps: list[tuple[str, int]]) -> None:
    """A log of a database that is never put back tells what all of it tells."""
    database, history = Database(), LogHistory()
    index, was_restored = SharedRead(database.read, history), False

    async def check() -> None:
        nonlocal was_restored
        for kind, number in steps:
            if kind == "write":
                database.write(number)
            elif kind == "restore":
                was_restored = True
                del database.rows[-number:]
            else:
                applied = max(0, len(database.rows) - number)
                truth = {table: database.last_of(table) > applied for table in range(TABLES)}
                shown = await blocked(index, applied)
                assert history.is_rewound(0) or all(shown[table] for table in truth if truth[table])
                assert was_restored or shown == truth

    asyncio.run(check())


async def test_few_rows_are_read_again() -> None:
    database = Database()
    index = SharedRead(database.read, LogHistory())
    for event in range(1, 101):
        database.write(event % TABLES)
        shown = await blocked(index, 1)
        assert shown == {table: database.last_of(table) > 1 for table in range(TABLES)}
    assert database.read_rows[-1] == COMPARED_ROWS + 1
    del database.rows[-50:]
    shown = await blocked(index, 1)
    assert shown == {table: database.last_of(table) > 1 for table in range(TABLES)}
    await index.close()


async def test_a_row_that_is_remembered_is_compared_with_what_a_shard_has_applied() -> None:
    database, history = Database(), LogHistory()
    index = SharedRead(database.read, history)
    for event in range(1, 31):
        database.write(event % TABLES)
    await blocked(index, 1)
    history.follow(lambda epoch: {10: {row_mark(database.rows[9])}})
    await blocked(index, 1)
    assert not history.is_rewound(0)
    history.follow(lambda epoch: {10: {row_mark(database.rows[8])}})
    await blocked(index, 1)
    assert history.is_rewound(0)
    await index.close()


async def test_a_read_that_fails_is_none_and_the_next_one_is_tried() -> None:
    primary = Primary()
    primary.fails = True
    index = SharedRead(primary.read, LogHistory())
    assert await index.after_now(Position(0, 5)) is None
    primary.fails = False
    assert await index.after_now(Position(0, 5)) is not None
    await index.close()


async def test_a_read_that_fails_unexpectedly_is_none_too() -> None:
    async def read(first: int, messages_after: int) -> Tail:
        raise RuntimeError("can't start new thread")

    index = SharedRead(read, LogHistory())
    assert await index.after_now(Position(0, 5)) is None
    await index.close()


def test_an_epoch_that_none_can_have_begun_rewinds_no_other() -> None:
    history = LogHistory()
    history.check_position(1 << 62, 1 << 61, 10)
    assert history.is_rewound(1 << 62)
    assert not history.is_rewound(3)
    history.check_position(3, 11, 10)
    assert [history.is_rewound(epoch) for epoch in (2, 3, 4)] == [True, True, False]


async def test_a_sequence_below_the_furthest_shard_is_noticed() -> None:
    history = LogHistory()
    index = SharedRead(Primary().read, history)
    await asyncio.gather(
        index.after_now(Position(1, 3)),
        index.after_now(Position(1, 10)),
        index.after_now(Position(0, 99)),
    )
    assert not history.is_rewound(1)
    await index.after_now(Position(1, 11))
    assert history.is_rewound(1)
    await index.close()
