"""One order of everything: simulated processes whose strands run one at a time.

A strand is a thread of a simulated process, as a greenlet. It runs until it waits; then whatever is
due next runs, by the simulated clock and by one seed. So blocking code runs unchanged, and a seed
repeats a run to the last step.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Any, Final

from greenlet import getcurrent, greenlet

_WAKE_S_MAX: Final = 0.000_2
"""Whoever is woken runs within this time, so that the seed decides who is first."""
_TICK_S: Final = 1e-9
"""Whoever waits sees the clock move: added to a time of hours, a shorter wait is lost."""


class Killed(BaseException):
    """The process of this strand has ended: whatever it does any more, nobody sees."""


class Process:
    """A simulated process on a simulated machine, with a clock of its own."""

    def __init__(self, scheduler: "Scheduler", name: str) -> None:
        self.name = name
        self.alive = True
        self.frozen_until = 0.0
        self._silent_since = 0.0
        self.wall_ahead_s = 0.0
        """How far its wall clock is ahead of the true time."""
        self._scheduler = scheduler
        self.rate = 1.0
        """How many seconds of its clock there are in a true one."""
        self._base = scheduler.random(name).uniform(1_000, 2_000)
        self._since = scheduler.now
        self._strands: list[Strand] = []
        self._frozen_strands: list[tuple[Strand, int]] = []
        """The strands that would have gone on while the process is frozen, after which pauses."""

    def monotonic(self) -> float:
        return self._base + (self._scheduler.now - self._since) * self.rate

    def wall(self) -> float:
        return self._scheduler.epoch_s + self._scheduler.now + self.wall_ahead_s

    def drift(self, rate: float) -> None:
        """From now on the clock is too fast, or too slow."""
        self._base, self._since = self.monotonic(), self._scheduler.now
        self.rate = rate

    def spawn(self, work: Callable[[], object], name: str) -> "Strand":
        strand = Strand(self._scheduler, self, work, name)
        self._strands = [each for each in self._strands if not each.dead]
        self._strands.append(strand)
        strand.wake()
        return strand

    def end(self) -> None:
        """Ends the process: what its code does while it unwinds reaches nobody."""
        self._silent_since = self.heard_s
        self.alive = False

    def kill(self) -> None:
        """Ends the process at once; only the hub may do so."""
        self.end()
        for strand in self._strands:
            strand.kill()
        self._strands.clear()

    def freeze(self, seconds: float) -> None:
        """Stops the process for a while, as a long collection of garbage does, or SIGSTOP."""
        self._silent_since = self.heard_s
        self.frozen_until = self._scheduler.now + seconds
        self._scheduler.after(seconds, self._go_on)

    def thaw(self) -> None:
        """Lets a frozen process go on at once."""
        self.frozen_until = min(self.frozen_until, self._scheduler.now)
        self._go_on()

    def hold(self, strand: "Strand", pause: int) -> None:
        self._frozen_strands.append((strand, pause))

    def _go_on(self) -> None:
        if self.frozen_until <= self._scheduler.now:
            strands, self._frozen_strands = self._frozen_strands, []
            for strand, pause in strands:
                self._scheduler.continue_after(0.0, strand, pause)

    @property
    def heard_s(self) -> float:
        """When others last heard of it."""
        now = self._scheduler.now
        return now if self.alive and self.frozen_until <= now else self._silent_since


class Strand(greenlet):
    """A thread of a simulated process."""

    def __init__(
        self, scheduler: "Scheduler", process: Process, work: Callable[[], object], name: str
    ) -> None:
        super().__init__(self._work, parent=scheduler.hub)
        self.process = process
        self.name = name
        self.locals: dict[int, Any] = {}
        self._scheduler = scheduler
        self._main = work
        self._pauses = 0
        self._waits = True

    def park(self, timeout_s: float | None = None) -> None:
        """Waits until `wake`, or so long by the clock of the process."""
        process, scheduler = self.process, self._scheduler
        if not process.alive:
            raise Killed
        self._waits = True
        if timeout_s is not None:
            wait_s = max(timeout_s / process.rate, _TICK_S) if timeout_s > 0.0 else 0.0
            scheduler.continue_after(wait_s, self, self._pauses)
        scheduler.give_way()
        if not process.alive:
            raise Killed

    def wake(self) -> None:
        if self._waits:
            self._scheduler.continue_soon(self, self._pauses)

    def kill(self) -> None:
        if not self.dead and self is not getcurrent():
            self._pauses += 1
            if self.gr_frame is not None:
                self._scheduler.run_strand(self)

    def begin_turn(self, pause: int) -> bool:
        """Whether to run it now, after a pause; not if that has ended, or the process runs no more.
        A frozen process goes on when it has thawed."""
        process = self.process
        if pause != self._pauses or not process.alive or self.dead:
            return False
        if process.frozen_until > self._scheduler.now:
            process.hold(self, pause)
            return False
        self._pauses = pause + 1
        self._waits = False
        return True

    def _work(self) -> None:
        try:
            if self.process.alive:
                self._main()
        except Killed:
            pass


class Scheduler:
    """Runs what is due, in the order of simulated time."""

    def __init__(self, seed: str) -> None:
        self.now = 0.0
        self.epoch_s = 1_700_000_000.0
        self.seed = seed
        self.hub = getcurrent()
        self.story: list[str] = []
        self.complaints: list[str] = []
        """What nobody has handled in an event loop."""
        self.process: Process | None = None
        """The process whose code runs now."""
        self._due: list[tuple[float, int, Callable[[], object] | None, Strand | None, int]] = []
        """By time, then in the order of arrival: what is to be called, or which strand goes on
        after which of its pauses."""
        self._numbers = 0
        self._until = 0.0
        self._wakes = self.random("wakes").random
        self._current: Strand | None = None

    def random(self, purpose: str) -> Random:
        """The random numbers of one purpose, whatever else there is."""
        return Random(f"{self.seed}/{purpose}")

    def note(self, text: str) -> None:
        """A line of the story."""
        who = self._current.process.name if self._current else "world"
        self.story.append(f"{self.now:10.3f} s  {who:<12} {text}")

    def after(self, seconds: float, work: Callable[[], object]) -> None:
        self._numbers += 1
        heappush(self._due, (self.now + seconds, self._numbers, work, None, 0))

    def continue_after(self, seconds: float, strand: Strand, pause: int) -> None:
        self._numbers += 1
        heappush(self._due, (self.now + seconds, self._numbers, None, strand, pause))

    def continue_soon(self, strand: Strand, pause: int) -> None:
        self._numbers += 1
        due_s = self.now + self._wakes() * _WAKE_S_MAX
        heappush(self._due, (due_s, self._numbers, None, strand, pause))

    def run(self, until: float) -> None:
        """Runs everything that is due up to this time."""
        assert getcurrent() is self.hub
        due, self._until = self._due, until
        while due and due[0][0] <= until:
            self.now, _, work, strand, pause = heappop(due)
            if work is not None:
                work()
            elif strand is not None and strand.begin_turn(pause):
                self.run_strand(strand)
        self.now = until

    def give_way(self) -> None:
        """Lets others run until the current strand is switched to again."""
        due = self._due
        # A strand hands over to the next one itself: by way of the hub there would be two switches.
        while due and due[0][0] <= self._until and due[0][2] is None:
            self.now, _, _, strand, pause = heappop(due)
            assert strand is not None
            if strand.begin_turn(pause):
                if strand is not self._current:
                    self._current, self.process = strand, strand.process
                    strand.switch()
                return
        self.hub.switch()

    def run_strand(self, strand: Strand) -> None:
        before, around = self._current, self.process
        self._current, self.process = strand, strand.process
        strand.switch()
        self._current, self.process = before, around

    @property
    def strand(self) -> Strand:
        """The strand that runs now."""
        assert self._current is not None, "only a strand can wait"
        return self._current

    def sleep(self, seconds: float) -> None:
        self.strand.park(seconds)
