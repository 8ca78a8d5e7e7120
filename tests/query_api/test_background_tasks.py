"""Tasks in the background, whose failures nobody waits for."""

import asyncio

from structlog.testing import capture_logs

from query_api.background_tasks import Background


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
