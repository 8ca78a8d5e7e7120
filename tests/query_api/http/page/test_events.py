"""The last events, as a real database has them."""

import pytest

from metatide.demo.store import Store
from query_api.database import Primary
from query_api.http.page.events import COUNT_MAX, RecentEvents
from tests.metatide.demo import workload_runs
from tests.query_api.folded_world import World
from tests.query_api.http.read_client import get
from tests.query_api.http.warm_shards import warm


async def test_they_are_the_rows_of_the_log_and_the_newest_come_first(small_world: World) -> None:
    primary = Primary(small_world.url, connections=2)
    try:
        recent = RecentEvents(primary)
        events = (await recent.last("7")).events
        assert [one.event for one in events] == list(
            range(small_world.current, small_world.current - 7, -1)
        )
        rows = {row.EVENT_ID: row for row in workload_runs.rows(Store(small_world.url))}
        for event in events:
            row = rows[event.event]
            assert (event.time_s, event.type) == (row.EVENT_TIME, row.EVENT_TYPE)
            assert (event.catalog, event.database, event.table) == (
                row.CAT_NAME,
                row.DB_NAME,
                row.TBL_NAME,
            )
        await recent.last("7")
        assert primary.fallback.reads == 1
    finally:
        await primary.close()


@pytest.mark.parametrize("limit", ["0", "-1", "x", "", str(COUNT_MAX + 1), "10000000", "²"])
def test_a_bad_number_is_refused(limit: str) -> None:
    [response] = get(warm(), f"/v1/events?limit={limit}")
    assert response.status_code == 400
    assert "bad limit" in response.json()["detail"]


def test_a_database_that_is_down_is_a_problem_in_words() -> None:
    [response] = get(warm(), "/v1/events")
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert response.json()["detail"] == "the metastore's database does not answer"
