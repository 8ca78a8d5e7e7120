"""Performs steps: one after the other, with the sequence held, or at the same time."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Many
from typing import Final

from tests.differential.sequence import Sequence
from tests.differential.steps import AnyStep, HeldSteps, Race, Step
from tests.differential.writers import Writer

Meanwhile = Callable[[], None]
_TRUNCATIONS: Final = frozenset(("truncate_in", "truncate_table", "truncate_table_req"))
_FAILURES: Final = frozenset(("MetaException", "TApplicationException"))


class StepRunner:
    """The writers of a run, and the outcomes of their actions."""

    def __init__(self, writers: Mapping[str, Writer], sequence: Sequence) -> None:
        self._writers = writers
        self._sequence = sequence
        self._faults: list[BaseException] = []
        self.outcomes: Counter[tuple[str, str]] = Counter()
        """The number of outcomes by action: `done`, or the name of the exception."""
        self.unlogged = False
        """Whether a truncation failed: the metastore stores it in one transaction and writes its
        event in the next, which may be the one that failed."""

    def do(self, step: AnyStep, meanwhile: Meanwhile | None = None) -> bool:
        """Performs a step; returns whether any of it was accepted. `meanwhile` is called while it
        is under way, unless the step truncates.
        """
        before = self._done()
        if _truncates(step):
            # Partitions are empty before the log says so, and nothing tells from when on.
            meanwhile = None
        match step:
            case Step():
                self._one(step)
            case HeldSteps(steps):
                self._do_held(steps, meanwhile)
            case Race(lanes):
                self._race(lanes, meanwhile)
        if self._faults:
            raise self._faults[0]
        return self._done() > before

    def _done(self) -> int:
        return sum(count for (_, how), count in self.outcomes.items() if how == "done")

    def _one(self, step: Step) -> None:
        refused = self._writers[step.writer].do(step)
        self.outcomes[step.action, refused or "done"] += 1
        if step.action in _TRUNCATIONS and refused in _FAILURES:
            self.unlogged = True

    def _lane(self, steps: Many[Step]) -> None:
        """Performs steps in a thread; its exceptions fail the test."""
        try:
            for step in steps:
                self._one(step)
        except BaseException as fault:
            self._faults.append(fault)

    def _do_held(self, steps: Many[Step], meanwhile: Meanwhile | None) -> None:
        threads: list[threading.Thread] = []
        try:
            with self._sequence.held():
                for step in steps:
                    thread = threading.Thread(target=self._lane, args=([step],))
                    thread.start()
                    threads.append(thread)
                    self._sequence.until_waiting(lambda: sum(one.is_alive() for one in threads))
                if meanwhile is not None:
                    meanwhile()
        finally:
            for thread in threads:
                thread.join()

    def _race(self, lanes: Many[Many[Step]], meanwhile: Meanwhile | None) -> None:
        threads = [threading.Thread(target=self._lane, args=(lane,)) for lane in lanes]
        for thread in threads:
            thread.start()
        try:
            while meanwhile is not None and any(one.is_alive() for one in threads):
                meanwhile()
        finally:
            for thread in threads:
                thread.join()


def _truncates(step: AnyStep) -> bool:
    match step:
        case Step():
            return step.action in _TRUNCATIONS
        case HeldSteps(steps):
            return any(map(_truncates, steps))
        case Race(lanes):
            return any(_truncates(each) for lane in lanes for each in lane)
