"""A database that was put back, of which a shard learns lost events while its log is read."""

from collections.abc import Callable, Sequence

import pytest

from query_api.backend import Backend
from query_api.latest.latest_log import LatestLog
from query_api.positions import Position
from query_api.reads import GetTable, ListPartitionNames, Read
from query_api.reasons import Reason
from query_api.requirement import Requirement
from query_api.resolver.answer import Miss, ReadAnswer
from tests.query_api.http.read_client import Nowhere
from tests.query_api.shards import (
    ORDERS,
    MemoryShard,
    MemoryShards,
    change,
    load_table,
    partition_image,
    table_image,
)

FEW, MANY = 1, 500


class Database(Nowhere):
    """A database whose log shows these events, read by read; `meanwhile` runs during the first."""

    def __init__(self, currents: Sequence[int | None], meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self.currents = list(currents)
        self._meanwhile = meanwhile

    async def after_now(self, reached: Position) -> LatestLog | None:
        current = self.currents.pop(0)
        self._meanwhile()
        self._meanwhile = int
        if current is None:
            return None
        self.history.check_position(reached.epoch, reached.event, current)
        return LatestLog(reached.epoch, current, [])


@pytest.mark.parametrize(
    ("read", "partitions"), [(GetTable(ORDERS), FEW), (ListPartitionNames(ORDERS), MANY)]
)
@pytest.mark.parametrize(
    ("currents", "reason"),
    [
        ((4,), None),
        ((3, 4), None),
        ((3, 7), None),
        ((3, 3), Reason.REWOUND),
        ((3, None), Reason.UNREAD),
    ],
)
async def test_what_is_applied_during_a_read_of_the_log_counts_if_the_database_goes_on_to_there(
    read: Read[object], partitions: int, currents: tuple[int | None, ...], reason: Reason | None
) -> None:
    images = [partition_image(f"d{number:03d}") for number in range(partitions)]
    loaded = load_table(1, *images, table=table_image(managed=False))
    shard = MemoryShard(*loaded, *(change(event) for event in (1, 2)))
    database = Database(currents, lambda: shard.fold([change(3), change(4)]))
    backend = Backend(MemoryShards(shard), database)
    outcome = await backend.resolver.cached(read, Requirement())
    assert not database.currents
    if reason is None:
        assert isinstance(outcome, ReadAnswer)
    else:
        assert isinstance(outcome, Miss)
        assert outcome.reason is reason
    await backend.close()
