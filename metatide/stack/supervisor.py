"""Supervises the processes of a stack: starts, restarts and stops them in order."""

import asyncio
import contextlib
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import psutil

from hive.errors import MachineError, MetatideError
from metatide.stack.logs import LogFile
from metatide.stack.machine import as_user
from metatide.stack.service import Service
from metatide.stack.state import Phase, ProcessState

T = TypeVar("T")
Say = Callable[[str], None]
POLL_S = 0.1
PROBE_S = 0.05
BACK_OFF_FIRST_S = 0.25
BACK_OFF_MAX_S = 30.0
# A process that has run this long counts as healthy: when it ends, the back-off begins anew.
PROVEN_S = 60.0
STARTS_MAX = 3


class Supervisor:
    """Runs services, each after those that it needs."""

    def __init__(
        self,
        services: Sequence[Service],
        folder: Path,
        say: Say,
        changed: Callable[[list[ProcessState]], None],
    ) -> None:
        self._changed = changed
        # Probes block, so there is a thread for each service: none holds up another's probe.
        self.threads = ThreadPoolExecutor(len(services), "stack")
        self._keepers = {
            service.name: _Keeper(service, LogFile(folder / f"{service.name}.log"), say, self)
            for service in services
        }

    async def run(self, stop: asyncio.Event, ready: Callable[[], Awaitable[None]]) -> None:
        """Starts everything, calls `ready`, and ends everything once `stop` is set."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(keeper.keep()) for keeper in self._keepers.values()]
                tasks.append(group.create_task(self._announce(ready)))
                tasks.append(group.create_task(self._bound_logs()))
                await stop.wait()
                for task in tasks:
                    task.cancel()
        except* MetatideError as errors:
            raise errors.exceptions[0] from None
        finally:
            await self._stop_all()
            self.threads.shutdown()

    def changed(self) -> None:
        self._changed([keeper.state for keeper in self._keepers.values()])

    async def answered(self, names: Sequence[str]) -> None:
        for name in names:
            if name in self._keepers:
                await self._keepers[name].answered.wait()

    async def _announce(self, ready: Callable[[], Awaitable[None]]) -> None:
        await self.answered(list(self._keepers))
        await ready()

    async def _bound_logs(self) -> None:
        while True:
            await asyncio.sleep(5)
            for keeper in self._keepers.values():
                keeper.log.bound()

    async def _stop_all(self) -> None:
        """Stops each process once nothing that needs it is left."""
        left = dict(self._keepers)
        while left:
            needed = {need for keeper in left.values() for need in keeper.service.needs}
            now = [keeper for name, keeper in left.items() if name not in needed]
            assert now, "the services depend on each other in a circle"
            await asyncio.gather(*(keeper.stop() for keeper in now))
            left = {name: keeper for name, keeper in left.items() if name in needed}


class _Keeper:
    """A service and its current process."""

    def __init__(self, service: Service, log: LogFile, say: Say, supervisor: Supervisor) -> None:
        self.service = service
        self.log = log
        self.state = ProcessState(service.name, service.address, stop_signal=service.stop_signal)
        self.answered = asyncio.Event()
        self._say = say
        self._supervisor = supervisor
        self._process: subprocess.Popen[bytes] | None = None
        self._waited_s = BACK_OFF_FIRST_S

    async def keep(self) -> None:
        await self._supervisor.answered(self.service.needs)
        while True:
            began = time.monotonic()
            self._enter("starting")
            try:
                with _faults_of_machine(self.service.name):
                    how = await self._live(began)
            except MetatideError as error:
                if not self.answered.is_set():
                    raise
                how = f"does not start: {error}"
            if time.monotonic() - began > PROVEN_S:
                self._waited_s = BACK_OFF_FIRST_S
            self.state.restarts += 1
            if not self.answered.is_set() and self.state.restarts >= STARTS_MAX:
                raise MachineError(f"{self.service.name} {how}{self.log.last_words()}")
            self._enter("restarting")
            self._say(
                f"{self.service.name} {how}; starting it again in {self._waited_s:g} s"
                f" (its log: {self.log.path})"
            )
            await asyncio.sleep(self._waited_s)
            self._waited_s = min(2 * self._waited_s, BACK_OFF_MAX_S)

    async def stop(self) -> None:
        """Asks the process to stop, and kills it after a while."""
        process = self._process
        if process is not None and process.poll() is None:
            process.send_signal(self.service.stop_signal)
            deadline = time.monotonic() + self.service.stop_timeout_s
            while process.poll() is None and time.monotonic() < deadline:
                await asyncio.sleep(PROBE_S)
            if process.poll() is None:
                self._say(f"{self.service.name} does not end; killing it")
                self._kill(process)
        # Even if a full disk prevents writing the state, the other processes must be ended.
        with contextlib.suppress(MachineError):
            self._enter("stopped")

    async def _live(self, began: float) -> str:
        """Starts the process and waits until it ends; returns how it ended."""
        process = await self._start()
        if not await self._until_answer(process, began):
            if process.poll() is not None:
                return _how_it_ended(process)
            self._kill(process)
            return f"did not answer within {self.service.start_timeout_s:g} s"
        await self._in_thread(self.service.settle)
        self._enter("running")
        took = f"{time.monotonic() - began:.1f} s"
        if self.answered.is_set():
            self._say(f"{self.service.name} is back after {took}")
        else:
            self._say(f"  {self.service.name:<10} {took:>7}  {self.service.address}")
        self.answered.set()
        while process.poll() is None:
            await asyncio.sleep(POLL_S)
        return _how_it_ended(process)

    async def _start(self) -> subprocess.Popen[bytes]:
        launch = await self._in_thread(self.service.prepare)
        # There is no await until the state is written, so that no process can go unrecorded.
        with self.log.open() as out:
            process = subprocess.Popen(
                launch.argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd="/",
                env=launch.full_environment(),
                process_group=0,
                **as_user(launch.user),
            )
        self._process = process
        self.state.pid = process.pid
        try:
            self.state.created = psutil.Process(process.pid).create_time()
        except psutil.NoSuchProcess:
            self.state.created = None
        self._supervisor.changed()
        return process

    async def _until_answer(self, process: subprocess.Popen[bytes], began: float) -> bool:
        while process.poll() is None and time.monotonic() - began < self.service.start_timeout_s:
            if await self._in_thread(self.service.answers):
                return True
            await asyncio.sleep(PROBE_S)
        return False

    async def _in_thread(self, function: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._supervisor.threads, function)

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()

    def _enter(self, phase: Phase) -> None:
        self.state.phase = phase
        self._supervisor.changed()


@contextlib.contextmanager
def _faults_of_machine(name: str) -> Iterator[None]:
    """Tells of a file or a program that can't be used by an error of ours."""
    try:
        yield
    except OSError as error:
        raise MachineError(f"{name} can't be run: {error}") from error


def _how_it_ended(process: subprocess.Popen[bytes]) -> str:
    code = process.returncode
    assert code is not None
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with status {code}"
