"""What stands in for `threading` and `time` while strands run."""

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tests.simulation.scheduler import Scheduler, Strand


class SimulatedEvent:
    """`threading.Event`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._set = False
        self._scheduler = scheduler
        self._strands: list[Strand] = []

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        for strand in self._strands:
            strand.wake()

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        if not self._set:
            # More than half of all waits are those of connectors between two polls.
            strand = self._scheduler.strand
            self._strands.append(strand)
            try:
                strand.park(timeout)
            finally:
                self._strands.remove(strand)
        return self._set


class SimulatedLock:
    """`threading.Lock`, for one that a strand holds while it waits for something else. Others may
    be real ones: strands run one at a time, until they wait."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._is_taken = False
        self._released = SimulatedEvent(scheduler)

    def acquire(self) -> None:
        while self._is_taken:
            self._released.wait()
        self._is_taken = True

    def release(self) -> None:
        self._is_taken = False
        self._released.set()
        self._released.clear()


class SimulatedCondition:
    """`threading.Condition`. Strands run one at a time, so that its lock has nothing to do."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._notified = SimulatedEvent(scheduler)

    def __enter__(self) -> bool:
        return True

    def __exit__(self, *_: object) -> None:
        pass

    def wait(self, timeout: float | None = None) -> None:
        self._notified.wait(timeout)

    def notify_all(self) -> None:
        self._notified.set()
        self._notified.clear()


class SimulatedThread:
    """`threading.Thread`."""

    def __init__(
        self, scheduler: Scheduler, target: Callable[[], object], name: str, daemon: bool = False
    ) -> None:
        self._scheduler = scheduler
        self._target, self._name, self.daemon = target, name, daemon
        self._done = SimulatedEvent(scheduler)

    def start(self) -> None:
        self._scheduler.strand.process.spawn(self._run, self._name)

    def join(self) -> None:
        self._done.wait()

    def _run(self) -> None:
        self._target()
        self._done.set()


class SimulatedLocal:
    """`threading.local`: what each strand has for itself. A pool's strands take turns in its
    places, so a place stands for a thread."""

    def __init__(self, scheduler: Scheduler) -> None:
        object.__setattr__(self, "_scheduler", scheduler)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._own()[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self._own()[name] = value

    def _own(self) -> dict[str, Any]:
        own: dict[str, Any] = self._scheduler.strand.locals.setdefault(id(self), {})
        return own


def threading_of(scheduler: Scheduler) -> SimpleNamespace:
    """The module `threading`, as far as it is used."""
    return SimpleNamespace(
        Event=lambda: SimulatedEvent(scheduler),
        Condition=lambda: SimulatedCondition(scheduler),
        Thread=lambda target, name="", daemon=False: SimulatedThread(
            scheduler, target, name, daemon
        ),
        local=lambda: SimulatedLocal(scheduler),
        Lock=threading.Lock,
    )


def time_of(scheduler: Scheduler) -> SimpleNamespace:
    """The module `time`, by the clock of the process that asks."""

    def monotonic() -> float:
        process = scheduler.process
        return scheduler.now if process is None else process.monotonic()

    def wall() -> float:
        process = scheduler.process
        return scheduler.epoch_s + scheduler.now if process is None else process.wall()

    return SimpleNamespace(
        monotonic=monotonic,
        time=wall,
        perf_counter=monotonic,
        time_ns=lambda: int(wall() * 1e9),
        sleep=scheduler.sleep,
    )
