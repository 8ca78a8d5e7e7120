"""A worker inside of the process of a test."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from processors.worker.worker import Worker, WorkerSettings
from state.topic import Topic
from state.tracing import Tracing

PATIENCE_S = 60.0
_CLOSING_S = 0.1
"""aiokafka doesn't wait until its sockets are closed, as they are if the loop goes on a moment."""


@asynccontextmanager
async def working(
    topic: Topic, path: Path, tracing: Tracing | None = None, **settings: Any
) -> AsyncIterator[Worker]:
    """Runs it until the end of the block."""
    usual: dict[str, Any] = {"group": topic.name, "session_timeout_s": 6}
    worker = Worker(
        WorkerSettings(servers=topic.servers, topic=topic.name, path=path, **usual | settings),
        tracing,
    )
    task = asyncio.create_task(worker.run())
    try:
        await until(lambda: worker.ready or task.done())
        assert not task.done(), task
        yield worker
    finally:
        task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(_CLOSING_S)


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not what():
            await asyncio.sleep(0.01)
