"""An event loop of asyncio on a strand: it waits in simulated time."""

import asyncio
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextvars import Context, copy_context
from functools import partial
from heapq import heappop, heappush
from typing import Any, Final, cast

from tests.simulation.network import Address, Network, ProtocolFactory, Server, Socket
from tests.simulation.scheduler import Killed, Process, Scheduler, Strand

_DEFAULT_PLACES: Final = 8
_RESOLUTION_S: Final = 1e-6


class _Call:
    """A call that is or becomes due: what is used of `asyncio.Handle`, in half its time."""

    __slots__ = ("arguments", "callback", "context", "is_cancelled")

    def __init__(
        self,
        callback: Callable[..., object],
        arguments: tuple[Any, ...],
        context: Context | None,
    ) -> None:
        self.callback = callback
        self.arguments = arguments
        self.context = copy_context() if context is None else context
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class _Pool:
    """The threads of an executor, each of which begins with its first job: so many run at a
    time."""

    def __init__(self, scheduler: Scheduler, process: Process, places: int) -> None:
        self._scheduler = scheduler
        self._process = process
        self._places = places
        self._idle: list[Strand] = []
        self._jobs: deque[Callable[[], None]] = deque()

    def take(self, job: Callable[[], None]) -> None:
        self._jobs.append(job)
        if self._idle:
            self._idle.pop().wake()
        elif self._places:
            self._places -= 1
            self._process.spawn(self._run, "executor")

    def _run(self) -> None:
        strand = self._scheduler.strand
        while True:
            while self._jobs:
                self._jobs.popleft()()
            self._idle.append(strand)
            strand.park()


class SimulatedLoop(asyncio.BaseEventLoop):
    """The event loop of one simulated process."""

    # It is asked for whenever a future is made.
    get_debug = staticmethod(bool)

    def __init__(self, scheduler: Scheduler, process: Process, network: Network) -> None:
        super().__init__()
        self.process = process
        self._network = network
        self.time = process.monotonic  # type: ignore[method-assign]
        self.strand: Strand
        self.is_woken = False
        self._scheduler = scheduler
        self._due: deque[_Call] = deque()
        self._timers: list[tuple[float, int, _Call]] = []
        self._timers_made = 0
        self._pools: dict[int, tuple[Any, _Pool]] = {}

    def start(self, main: Callable[[], Any]) -> None:
        """Runs a coroutine in the process until both end."""
        self.strand = self.process.spawn(partial(self._run, main), "loop")

    def submit(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Runs a coroutine whose end nobody awaits; any strand may call this."""

        def begin() -> None:
            self.create_task(work()).add_done_callback(_raise_error)

        self.call_soon_threadsafe(begin)

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
            self._run_once()

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *arguments: Any, context: Context | None = None
    ) -> _Call:
        if self.is_closed():
            raise RuntimeError("Event loop is closed")
        call = _Call(callback, arguments, context)
        self._due.append(call)
        return call

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *arguments: Any, context: Context | None = None
    ) -> _Call:
        call = self.call_soon(callback, *arguments, context=context)
        self.is_woken = True
        self.strand.wake()
        return call

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *arguments: Any,
        context: Context | None = None,
    ) -> _Call:
        if self.is_closed():
            raise RuntimeError("Event loop is closed")
        call = _Call(callback, arguments, context)
        self._timers_made += 1
        heappush(self._timers, (when, self._timers_made, call))
        return call

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *arguments: Any,
        context: Context | None = None,
    ) -> _Call:
        return self.call_at(self.time() + delay, callback, *arguments, context=context)

    def _run_once(self) -> None:
        """What a turn of asyncio's own loop does, in its order, without a selector."""
        due, timers = self._due, self._timers
        while timers and timers[0][2].is_cancelled:
            heappop(timers)
        if due or self._stopping or self.is_woken:
            self.is_woken = False
        else:
            self._wait(max(0.0, timers[0][0] - self.time()) if timers else None)
        if timers:
            due_s = self.time() + _RESOLUTION_S
            while timers and timers[0][0] < due_s:
                due.append(heappop(timers)[2])
        for _ in range(len(due)):
            call = due.popleft()
            if call.is_cancelled:
                continue
            try:
                call.context.run(call.callback, *call.arguments)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                self.call_exception_handler({"message": "a call failed", "exception": error})

    def _wait(self, seconds: float | None) -> None:
        """Waits until the next timer, or until somebody wakes the loop."""
        if seconds == 0.0:
            return
        if not self.process.alive:
            # The process has ended: its tasks unwind without waiting.
            self.stop()
            return
        events._set_running_loop(None)
        try:
            self.strand.park(seconds)
        except Killed:
            self.stop()
        finally:
            events._set_running_loop(self)
        self.is_woken = False

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
                self._run_once()

    def _ended(self, _: object) -> None:
        self.stop()

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, work: Callable[..., Any], *arguments: Any
    ) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self.create_future()

        def run() -> None:
            result: Any = None
            error: BaseException | None = None
            try:
                result = work(*arguments)
            except Exception as failure:
                error = failure
            self.call_soon_threadsafe(_settle, future, result, error)

        if self.process.alive:
            self._pool(executor).take(run)
        else:
            future.cancel()
        return future

    def _pool(self, executor: Executor | None) -> _Pool:
        entry = self._pools.get(id(executor))
        if entry is None:
            places = getattr(executor, "_max_workers", _DEFAULT_PLACES)
            entry = self._pools[id(executor)] = (
                executor,
                _Pool(self._scheduler, self.process, places),
            )
        return entry[1]

    async def create_server(  # type: ignore[override]
        self, protocol_factory: ProtocolFactory, host: str, port: int, **_: object
    ) -> Server:
        return self._network.listen(self, protocol_factory, port)

    async def create_connection(  # type: ignore[override]
        self,
        protocol_factory: ProtocolFactory,
        host: str | None = None,
        port: int | None = None,
        *,
        sock: Socket | None = None,
        **_: object,
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        to = (host, port) if sock is None else sock.peer
        return await self._network.connect(self, protocol_factory, cast(Address, to))

    def _process_events(self, _event_list: list[Any]) -> None:
        pass

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if self.process.alive and error is not None:
            self._scheduler.complaints.append(
                f"{context.get('message')}: {error!r} {context.get('future')!r}"
            )


def _raise_error(task: asyncio.Task[object]) -> None:
    """Raises what a task has raised, for the loop to handle: asyncio does so only when the task is
    collected, which may be after the run."""
    if not task.cancelled():
        task.result()


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
