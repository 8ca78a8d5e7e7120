"""The queue of scopes to load: requested ones come before planned ones."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from time import monotonic
from typing import NamedTuple

from connectors.loads.plan import BATCH_PARTITIONS_MAX, BATCH_SCOPES_MAX, Planned
from state.records import Scope, ScopeKind

ASKED_AT_ONCE = 20
"""How many requested scopes share a snapshot: few, because somebody waits for them."""
ASKED_MAX = 100_000
"""The most requests that are queued; whoever misses a load because of that asks again."""
ANSWERS_S = 30.0
"""A load older than this answers no request: whoever still asks has lost what the load brought, or
an operator's order, through another connector, made it forget that."""
REMEMBERED_MAX = 200_000
"""The number of scopes whose last load is remembered."""
REST_S_FIRST, REST_S_MAX = 5.0, 300.0
"""How long a scope rests after a load that ended before the event it was asked for, or that was
given up; twice as long after each that follows. Workers ask less often than that, so none of them
waits for two rests."""


class _Rest(NamedTuple):
    """The rest of a scope after loads that brought nothing."""

    rest_s: float
    until_s: float
    given_up: bool
    """Whether the last of them was given up, so that a later event is no reason to try again."""


class Queue:
    """A queue for several threads; no scope is loaded by two of them at a time."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._requested: OrderedDict[Scope, int] = OrderedDict()
        self._due: OrderedDict[Scope, int] = OrderedDict()
        self._running: dict[Scope, int] = {}
        self._outdated: set[Scope] = set()
        """Scopes whose load was forgotten while it ran: it answers nothing."""
        self._resting: OrderedDict[Scope, _Rest] = OrderedDict()
        self._alone: set[Scope] = set()
        """Queued scopes that must share no snapshot, because a batch with them was refused."""
        self._newest = 0
        self._loaded: OrderedDict[Scope, tuple[int, float]] = OrderedDict()
        self._closed = False

    def plan(self, planned: Iterable[Planned]) -> None:
        """Queues planned scopes in this order."""
        with self._changed:
            self._due.update(planned)
            self._changed.notify_all()

    def ask(self, scope: Scope, floor: int) -> bool:
        """Queues a scope that is missing as of an event; False when a later load has brought it.

        A load that is running may have read before the event, so the request waits until it has
        ended.
        """
        with self._changed:
            loaded, at_s = self._loaded.get(scope, (-1, 0.0))
            answered = loaded >= floor and self._clock() < at_s + ANSWERS_S
            if answered or self.rests(scope, floor) or len(self._requested) >= ASKED_MAX:
                return False
            self._requested[scope] = max(floor, self._requested.get(scope, 0))
            self._changed.notify_all()
            return True

    def rests(self, scope: Scope, floor: int) -> bool:
        """Whether a scope rests, because loads of it were given up, or ended before the event they
        were asked for, and the log hasn't reached this one either as far as is known."""
        with self._changed:
            rest = self._resting.get(scope)
            if rest is None or self._clock() >= rest.until_s:
                return False
            return rest.given_up or floor > self._newest

    def take(self, wait_s: float) -> list[Scope]:
        """The scopes to load next in one snapshot; empty when none came within this time."""
        with self._changed:
            scopes = self._pick()
            if not scopes and not self._closed:
                self._changed.wait(wait_s)
                scopes = self._pick()
            self._running.update(scopes)
            return list(scopes)

    def done(self, scopes: Iterable[Scope], position: int | None) -> int:
        """Notes that scopes were loaded as of an event; without one the load failed, and they are
        queued again. Returns how many were loaded in vain: as of an event before the one asked
        for."""
        vain = 0
        with self._changed:
            self._newest = max(self._newest, position or 0)
            for scope in scopes:
                floor, outdated = self._running.pop(scope, 0), scope in self._outdated
                self._outdated.discard(scope)
                if position is None:
                    self._due.setdefault(scope, 0)
                if position is None or outdated:
                    continue
                if position < floor:
                    vain += 1
                    self._rest(scope)
                else:
                    self._resting.pop(scope, None)
                if scope.kind is ScopeKind.OBJECTS:
                    # Each request names objects of its own, so an earlier reread doesn't answer it.
                    continue
                self._loaded[scope] = position, self._clock()
                self._loaded.move_to_end(scope)
                if self._requested.get(scope, position + 1) <= position:
                    del self._requested[scope]
            while len(self._loaded) > REMEMBERED_MAX:
                self._loaded.popitem(last=False)
            self._changed.notify_all()
        return vain

    def refused(self, scopes: Sequence[Scope]) -> Scope | None:
        """Notes that a batch can't be loaded because of what is in it. Each of its scopes is queued
        again, to be loaded alone. If it is alone already, it is given up and returned."""
        with self._changed:
            floors = {scope: self._running.pop(scope, 0) for scope in scopes}
            self._outdated.difference_update(scopes)
            self._changed.notify_all()
            if len(scopes) == 1:
                self._rest(scopes[0], given_up=True)
                return scopes[0]
            self._alone.update(scopes)
            for scope, floor in floors.items():
                queue = self._requested if floor else self._due
                queue[scope] = max(floor, queue.get(scope, 0))
            return None

    def forget_scope(self, scope: Scope) -> None:
        """Forgets when this scope was loaded: the next request for it is not answered already."""
        with self._changed:
            self._loaded.pop(scope, None)
            self._resting.pop(scope, None)
            self._outdated |= {scope} & self._running.keys()

    def forget(self) -> None:
        """Forgets all that was loaded: the epoch or the lists have changed."""
        with self._changed:
            self._loaded.clear()
            self._resting.clear()
            self._outdated.update(self._running)
            self._newest = 0
            self._changed.notify_all()

    def close(self) -> None:
        """Wakes all threads that wait; from then on the queue gives out nothing."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def empty(self) -> bool:
        """Whether no scope is queued or being loaded."""
        with self._changed:
            return not (self._requested or self._due or self._running)

    @property
    def running(self) -> int:
        """The number of scopes that are being loaded."""
        with self._changed:
            return len(self._running)

    def __len__(self) -> int:
        with self._changed:
            return len(self._requested) + len(self._due)

    def _rest(self, scope: Scope, *, given_up: bool = False) -> None:
        earlier = self._resting.pop(scope, None)
        rest_s = REST_S_FIRST if earlier is None else min(2 * earlier.rest_s, REST_S_MAX)
        self._resting[scope] = _Rest(rest_s, self._clock() + rest_s, given_up)
        if len(self._resting) > REMEMBERED_MAX:
            self._resting.popitem(last=False)

    def _pick(self) -> dict[Scope, int]:
        """The next scopes, with the events that they were asked for."""
        if self._closed:
            return {}
        waiting = (scope for scope in self._requested if scope not in self._running)
        scopes = self._together(islice(waiting, ASKED_AT_ONCE))
        floors = {scope: self._requested.pop(scope) for scope in scopes}
        for scope in scopes:
            self._due.pop(scope, None)
        return floors or dict.fromkeys(self._pick_due(), 0)

    def _pick_due(self) -> list[Scope]:
        scopes: list[Scope] = []
        partitions = 0
        for scope, count in self._due.items():
            full = partitions + count > BATCH_PARTITIONS_MAX or len(scopes) == BATCH_SCOPES_MAX
            if scopes and full:
                break
            if scope not in self._running:
                scopes.append(scope)
                partitions += count
        scopes = self._together(scopes)
        for scope in scopes:
            del self._due[scope]
        return scopes

    def _together(self, scopes: Iterable[Scope]) -> list[Scope]:
        """The first of these scopes that may share a snapshot."""
        together: list[Scope] = []
        for scope in scopes:
            if scope in self._alone:
                if together:
                    break
                self._alone.discard(scope)
                return [scope]
            together.append(scope)
        return together
