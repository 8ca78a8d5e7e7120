"""The hour that a server remembers."""

import asyncio

import httpx
import pytest

from query_api.http.page import history
from query_api.http.page.history import KEPT, PATH, Counted, History, Moment, Recorder, together
from tests.metatide.client.serving import serving
from tests.query_api.http.faulty_owner import faulty_owner, whole
from tests.query_api.http.read_client import ask
from tests.query_api.http.two_workers import elsewhere
from tests.query_api.http.warm_shards import ANY, TABLE, warm

ROW_S = 10.0


async def test_no_more_than_an_hour_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "EVERY_S", 0.0)
    counts, enough = 0, asyncio.Event()

    async def count() -> Counted:
        nonlocal counts
        counts += 1
        if counts > KEPT + 20:
            enough.set()
        return Counted(counts * 3, counts, 0.5)

    recorder = Recorder(count)
    running = asyncio.create_task(recorder.run())
    await enough.wait()
    running.cancel()
    moments = recorder.history().moments
    assert len(moments) == KEPT
    assert moments[0].ago_s >= moments[-1].ago_s
    for moment in moments:
        assert moment.hits_per_s == pytest.approx(3 * moment.misses_per_s)
        assert moment.missing_age_s == 0.5


def test_reads_of_workers_are_added_and_the_greatest_age_counts() -> None:
    first = History(ROW_S, [Moment(14.0, 1.0, 2.0, 3.0), Moment(4.0, 10.0, 0.0, None)])
    other = History(ROW_S, [Moment(12.0, 4.0, 1.0, 7.0)])
    assert together([first, other]).moments == [
        Moment(14.0, 5.0, 3.0, 7.0),
        Moment(4.0, 10.0, 0.0, None),
    ]


def test_the_history_of_all_workers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "EVERY_S", 0.05)

    async def asking(client: httpx.AsyncClient) -> None:
        while True:
            await client.get(f"{TABLE}?{ANY}")
            moments = (await client.get(PATH)).json()["moments"]
            if any(moment["hits_per_s"] for moment in moments):
                return

    with serving(warm()) as url:
        ask(elsewhere(url), asking)


@pytest.mark.parametrize("answer", [whole(500, b""), whole(200, b"{")])
def test_a_worker_without_a_history_is_left_out(answer: bytes) -> None:
    shards = elsewhere("")

    async def asking(client: httpx.AsyncClient) -> None:
        async with faulty_owner(answer) as url:
            shards.urls[0] = url
            assert (await client.get(PATH)).json()["moments"] == []

    ask(shards, asking)
