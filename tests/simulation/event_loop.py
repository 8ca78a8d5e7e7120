"""An event loop of asyncio on a strand: it waits in simulated time."""

import asyncio
from asyncio import events
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import Any, Final

from tests.simulation.scheduler import Killed, Process, Scheduler, Strand

_DEFAULT_PLACES: Final = 8


class _Selector:
    """Waits until the loop's next timer, or until somebody wakes the loop."""

    def __init__(self, scheduler: Scheduler, loop: "SimulatedLoop") -> None:
        self._scheduler = scheduler
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        loop = self._loop
        if timeout == 0 or loop.is_woken:
            loop.is_woken = False
            return []
        if not loop.process.alive:
            # The process has ended: its tasks unwind without waiting.
            loop.stop()
            return []
        events._set_running_loop(None)
        try:
            loop.strand.park(timeout)
        except Killed:
            loop.stop()
        finally:
            events._set_running_loop(loop)
        loop.is_woken = False
        return []


class _Pool:
    """The places of an executor: so many jobs run at a time."""

    def __init__(self, places: int) -> None:
        self.free = list(range(places))
        self.locals: list[dict[int, Any]] = [{} for _ in range(places)]
        self.waiting: deque[Callable[[], None]] = deque()


class SimulatedLoop(asyncio.BaseEventLoop):
    """The event loop of one simulated process."""

    def __init__(self, scheduler: Scheduler, process: Process) -> None:
        super().__init__()
        self.process = process
        self.strand: Strand
        self.is_woken = False
        self._scheduler = scheduler
        self._selector = _Selector(scheduler, self)
        self._clock_resolution = 1e-6
        self._pools: dict[int, tuple[Any, _Pool]] = {}

    def time(self) -> float:
        return self.process.monotonic()

    def start(self, main: Callable[[], Any]) -> None:
        """Runs a coroutine in the process until both end."""
        self.strand = self.process.spawn(partial(self._run, main), "loop")

    def _run(self, main: Callable[[], Any]) -> None:
        events._set_running_loop(self)
        try:
            task = self.create_task(main())
            task.add_done_callback(self._ended)
            self._run_until_stopped()
            self._unwind()
        finally:
            events._set_running_loop(None)
        if self.process.alive and not task.cancelled():
            task.result()

    def _run_until_stopped(self) -> None:
        self._stopping = False
        while not self._stopping:
            self._run_once()  # type: ignore[attr-defined]

    def _unwind(self) -> None:
        """Cancels what is left, as often as it takes."""
        for _ in range(100):
            tasks = asyncio.all_tasks(self)
            if not tasks:
                return
            for task in tasks:
                task.cancel()
            for _ in range(20):
                self._stopping = True
                self.is_woken = True
                self._run_once()  # type: ignore[attr-defined]

    def _ended(self, _: object) -> None:
        self.stop()

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, work: Callable[..., Any], *arguments: Any
    ) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self.create_future()
        pool = self._pool(executor)

        def begin() -> None:
            place = pool.free.pop()
            strand = self.process.spawn(partial(run, place), "executor")
            strand.locals = pool.locals[place]

        def run(place: int) -> None:
            result: Any = None
            error: BaseException | None = None
            try:
                result = work(*arguments)
            except Exception as failure:
                error = failure
            pool.free.append(place)
            self.call_soon_threadsafe(_settle, future, result, error)
            if pool.waiting:
                pool.waiting.popleft()()

        if not self.process.alive:
            future.cancel()
        elif pool.free:
            begin()
        else:
            pool.waiting.append(begin)
        return future

    def _pool(self, executor: Executor | None) -> _Pool:
        kept = self._pools.get(id(executor))
        if kept is None:
            places = getattr(executor, "_max_workers", _DEFAULT_PLACES)
            kept = self._pools[id(executor)] = executor, _Pool(places)
        return kept[1]

    def _process_events(self, _event_list: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        self.is_woken = True
        self.strand.wake()

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if self.process.alive and error is not None:
            self._scheduler.complaints.append(
                f"{context.get('message')}: {error!r} {context.get('future')!r}"
            )


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
