"""Who shares a read, and that nobody uses one that began before the request came."""

import asyncio
import threading

from sqlalchemy.exc import OperationalError

from query_api.latest import SharedRead
from query_api.latest.log_history import LogHistory
from query_api.latest.sequence import Tail
from query_api.latest.shared_read import INTERVAL_S_MIN
from query_api.positions import Position


class Primary:
    """Counts its reads, and answers when it is let."""

    def __init__(self) -> None:
        self.event = 10
        self.began = 0
        self.asked_from: list[int] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.fails = False

    def read(self, first: int, messages_after: int) -> Tail:
        self.began += 1
        self.asked_from.append(first)
        event = self.event
        assert self.may_answer.wait(10)
        if self.fails:
            raise OperationalError("SELECT", {}, Exception("it is gone"))
        return Tail(event, [])


async def until_begun(primary: Primary, began: int) -> None:
    while primary.began < began:
        await asyncio.sleep(0.001)


async def test_all_that_wait_share_one_read() -> None:
    primary = Primary()
    index = SharedRead(primary.read, LogHistory())
    logs = await asyncio.gather(*(index.after_now(Position(0, n)) for n in range(100)))
    assert {log.current for log in logs if log} == {10}
    assert primary.asked_from == [0]
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


async def test_reads_that_follow_each_other_are_few() -> None:
    primary = Primary()
    index = SharedRead(primary.read, LogHistory())
    loop = asyncio.get_running_loop()
    began = loop.time()
    for _ in range(20):
        await index.after_now(Position(0, 5))
    assert primary.began == index.reads == 20
    assert loop.time() - began > 19 * INTERVAL_S_MIN / 2
    await index.close()


async def test_a_read_that_fails_is_none_and_the_next_one_is_tried() -> None:
    primary = Primary()
    primary.fails = True
    index = SharedRead(primary.read, LogHistory())
    assert await index.after_now(Position(0, 5)) is None
    primary.fails = False
    assert await index.after_now(Position(0, 5)) is not None
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
