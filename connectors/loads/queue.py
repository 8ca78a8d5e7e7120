"""What is still to be loaded: what was asked for before what is due anyway."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from time import monotonic

from connectors.loads.plan import BATCH_PARTITIONS_MAX, BATCH_SCOPES_MAX, Planned
from state.records import Scope, ScopeKind

ASKED_AT_ONCE = 20
"""How many asked-for scopes share a snapshot: few, for somebody waits for them."""
ASKED_MAX = 100_000
"""How many asks wait at most; who still misses something asks again."""
ANSWERS_S = 30.0
"""After this long a load answers no ask any more: who still asks has lost what it brought, or heard
from an operator, by way of another connector, to forget it."""
REMEMBERED_MAX = 200_000
"""Of how many scopes it is known what was loaded last."""


class Queue:
    """Scopes for several threads; a scope is never loaded by two of them at a time."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._asked: OrderedDict[Scope, int] = OrderedDict()
        self._due: OrderedDict[Scope, int] = OrderedDict()
        self._running: set[Scope] = set()
        self._loaded: OrderedDict[Scope, tuple[int, float]] = OrderedDict()
        self._closed = False

    def plan(self, planned: Iterable[Planned]) -> None:
        """These are due, in this order, with their numbers of partitions."""
        with self._changed:
            self._due.update(planned)
            self._changed.notify_all()

    def ask(self, scope: Scope, floor: int) -> bool:
        """Somebody misses a scope as of an event; False when a load since then answers that.

        A load that runs may have read before the event: the ask waits until it has ended.
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
        """What to load next in one snapshot; empty when nothing came in this time."""
        with self._changed:
            found = self._pick()
            if not found and not self._closed:
                self._changed.wait(wait_s)
                found = self._pick()
            self._running.update(found)
            return found

    def done(self, scopes: Iterable[Scope], position: int | None) -> None:
        """Scopes were loaded as of an event, or (None) weren't and are due again."""
        with self._changed:
            for scope in scopes:
                self._running.discard(scope)
                if position is None:
                    self._due.setdefault(scope, 0)
                    continue
                if scope.kind is ScopeKind.OBJECTS:
                    # An ask names other objects than the one before, and isn't answered by that.
                    continue
                self._loaded[scope] = position, self._clock()
                self._loaded.move_to_end(scope)
                if self._asked.get(scope, position + 1) <= position:
                    del self._asked[scope]
            while len(self._loaded) > REMEMBERED_MAX:
                self._loaded.popitem(last=False)
            self._changed.notify_all()

    def forget_scope(self, scope: Scope) -> None:
        """What was loaded of it is gone: the next ask isn't answered by that."""
        with self._changed:
            self._loaded.pop(scope, None)

    def forget(self) -> None:
        """What was loaded says nothing any more: another epoch, or other lists."""
        with self._changed:
            self._loaded.clear()

    def close(self) -> None:
        """Nobody waits any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def empty(self) -> bool:
        """Whether nothing waits and nothing runs."""
        with self._changed:
            return not (self._asked or self._due or self._running)

    def __len__(self) -> int:
        with self._changed:
            return len(self._asked) + len(self._due)

    def _pick(self) -> list[Scope]:
        if self._closed:
            return []
        asked = [one for one in self._asked if one not in self._running][:ASKED_AT_ONCE]
        for scope in asked:
            del self._asked[scope]
            self._due.pop(scope, None)
        return asked or self._pick_due()

    def _pick_due(self) -> list[Scope]:
        found: list[Scope] = []
        partitions = 0
        for scope, count in self._due.items():
            full = partitions + count > BATCH_PARTITIONS_MAX or len(found) == BATCH_SCOPES_MAX
            if found and full:
                break
            if scope not in self._running:
                found.append(scope)
                partitions += count
        for scope in found:
            del self._due[scope]
        return found
