"""Tasks in the background, whose failures nobody waits for."""

import asyncio

import pytest
from structlog.testing import capture_logs

from query_api.background_tasks import Background, outcome, take_note


async def test_a_task_that_fails_is_told_in_the_log_and_one_that_is_cancelled_is_not() -> None:
    background = Background()

    async def fail() -> None:
        raise ZeroDivisionError

    async def wait() -> None:
        await asyncio.Event().wait()

    with capture_logs() as logs:
        background.start(fail())
        background.start(wait())
        await asyncio.sleep(0.01)
        assert len(background) == 1
        await background.close()
    assert [line["event"] for line in logs] == ["a background task failed"]
    assert isinstance(logs[0]["exc_info"], ZeroDivisionError)
    assert not len(background)


async def test_a_future_goes_on_when_its_waiter_is_cancelled_and_nobody_is_told() -> None:
    loop = asyncio.get_running_loop()
    logged: list[dict[str, object]] = []
    loop.set_exception_handler(lambda _, context: logged.append(context))
    shared: asyncio.Future[str] = loop.create_future()
    shared.add_done_callback(take_note)
    leaving, staying = (asyncio.create_task(outcome(shared)) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    shared.set_exception(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await staying
    await asyncio.sleep(0)
    assert logged == []


async def test_a_task_that_waits_for_a_cancelled_future_is_cancelled() -> None:
    shared: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    shared.cancel()
    with pytest.raises(asyncio.CancelledError):
        await outcome(shared)
