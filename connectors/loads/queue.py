"""The queue of scopes to load: requested ones come before planned ones."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from time import monotonic

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


class Queue:
    """A queue for several threads; no scope is loaded by two of them at a time."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._asked: OrderedDict[Scope, int] = OrderedDict()
        self._due: OrderedDict[Scope, int] = OrderedDict()
        self._running: set[Scope] = set()
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
            if answered or len(self._asked) >= ASKED_MAX:
                return False
            self._asked[scope] = max(floor, self._asked.get(scope, 0))
            self._changed.notify_all()
            return True

    def take(self, wait_s: float) -> list[Scope]:
        """The scopes to load next in one snapshot; empty when none came within this time."""
        with self._changed:
            scopes = self._pick()
            if not scopes and not self._closed:
                self._changed.wait(wait_s)
                scopes = self._pick()
            self._running.update(scopes)
            return scopes

    def done(self, scopes: Iterable[Scope], position: int | None) -> None:
        """Notes that scopes were loaded as of an event; without one the load failed, and they are
        queued again."""
        with self._changed:
            for scope in scopes:
                self._running.discard(scope)
                if position is None:
                    self._due.setdefault(scope, 0)
                    continue
                if scope.kind is ScopeKind.OBJECTS:
                    # Each request names objects of its own, so an earlier reread doesn't answer it.
                    continue
                self._loaded[scope] = position, self._clock()
                self._loaded.move_to_end(scope)
                if self._asked.get(scope, position + 1) <= position:
                    del self._asked[scope]
            while len(self._loaded) > REMEMBERED_MAX:
                self._loaded.popitem(last=False)
            self._changed.notify_all()

    def forget_scope(self, scope: Scope) -> None:
        """Forgets when this scope was loaded: the next request for it is not answered already."""
        with self._changed:
            self._loaded.pop(scope, None)

    def forget(self) -> None:
        """Forgets all that was loaded: the epoch or the lists have changed."""
        with self._changed:
            self._loaded.clear()

    def close(self) -> None:
        """Wakes all threads that wait; from then on the queue gives out nothing."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def empty(self) -> bool:
        """Whether no scope is queued or being loaded."""
        with self._changed:
            return not (self._asked or self._due or self._running)

    def __len__(self) -> int:
        with self._changed:
            return len(self._asked) + len(self._due)

    def _pick(self) -> list[Scope]:
        if self._closed:
            return []
        scopes = [scope for scope in self._asked if scope not in self._running][:ASKED_AT_ONCE]
        for scope in scopes:
            del self._asked[scope]
            self._due.pop(scope, None)
        return scopes or self._pick_due()

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
        for scope in scopes:
            del self._due[scope]
        return scopes
