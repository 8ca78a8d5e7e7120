"""Asks the connectors for the loads that the fold or a reader misses, until they have come."""

import asyncio
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import structlog

from hive.errors import MetatideError
from processors.fold import Signal
from processors.worker.coldness import open_load, why_cold, with_objects
from processors.worker.metrics import Metrics
from processors.worker.signals_producer import SignalsProducer
from state.loads import Cold, OpenLoad
from state.records import Scope
from state.records.signals import AnySignal, LoadRequest
from state.shard_reader import ShardReader
from state.store import StorePosition, StoreSnapshot
from state.topic import Topic

TICK_S: Final = 0.1
MAKE_AGAIN_S: Final = 1.0
"""The wait after a failed attempt to make the signals topic."""
AGAIN_FIRST_S: Final = 10.0
AGAIN_MAX_S: Final = 600.0
"""The first wait before a request is repeated, which doubles each time, and the longest."""
STALLED_S: Final = 300.0
"""A load that has brought nothing for so long has most likely ended with its connector."""
WAITING_MAX: Final = 100_000
AT_ONCE_MAX: Final = 200
"""How many requests are sent in a tick: a broken chain makes a whole shard cold at once."""

_Key = tuple[int, Scope]
"""A shard and what it lacks."""

log = structlog.get_logger(__name__)


class _View(NamedTuple):
    """One moment of a store."""

    reader: ShardReader
    position: StorePosition


def _view(snapshot: StoreSnapshot) -> _View:
    return _View(ShardReader(snapshot), snapshot.position)


class _ScopeState(NamedTuple):
    """What a store says of the scope of a request."""

    cold: Cold | None
    """Why its scope is cold; None if it isn't."""
    opened: OpenLoad | None
    """The load that is under way."""
    request: LoadRequest
    """The request as it would be sent now."""
    position: StorePosition


@dataclass
class _Waiting:
    """A request, and when it is due again."""

    request: LoadRequest
    unknown: Cold | None
    """Why the scope is cold if the shard knows nothing of it; None if it must then be gone."""
    asked_s: float
    due_s: float
    looked_s: float
    """When it was last seen whether its scope is still cold."""
    turn_s: float
    """When it is due by itself; a reader may bring that forward."""
    position: StorePosition | None = None
    """Where the store was at its last turn. While it is there, nothing has come of the request: the
    connectors are away, or the store is an image."""
    again_s: float = AGAIN_FIRST_S
    progress: tuple[str, int, int] | None = None
    """How far the load was that was under way when it was last looked for."""
    progressed_s: float = 0.0

    def is_early(self, state: _ScopeState, now: float) -> bool:
        """Whether a reader brought this turn forward and nothing has changed since the last one."""
        return now < self.turn_s and state.position == self.position

    def take_turn(self, state: _ScopeState | None, now: float) -> LoadRequest | None:
        """Puts the request off until its next turn; returns what is to be sent in this one, None
        while a load goes on, or while the store can't be read."""
        opened = None if state is None else state.opened
        again_s = self.again_s if opened is None else min(self.again_s, STALLED_S)
        self.looked_s, self.due_s = now, now + again_s
        self.turn_s, self.position = self.due_s, state and state.position
        self.again_s = min(2 * self.again_s, AGAIN_MAX_S)
        stalled = opened is not None and self.has_stalled(opened, now)
        if state is not None and (stalled or state.cold not in (Cold.LOADING, Cold.AHEAD)):
            return state.request
        return None

    def has_stalled(self, opened: OpenLoad, now: float) -> bool:
        """Whether the load that is under way has brought nothing for a long time; then so much
        time passes again before it counts as stalled once more."""
        progress = opened.id, opened.next, len(opened.early)
        stalled = progress == self.progress and now - self.progressed_s >= STALLED_S
        if stalled or progress != self.progress:
            self.progress, self.progressed_s = progress, now
        return stalled

    def covers(self, request: LoadRequest) -> bool:
        """Whether the other one has no new reason. Its turn isn't brought forward by that: a load
        that can't warm its scope would be asked for again as soon as it ends."""
        return request.epoch == self.request.epoch and request.floor <= self.request.floor


class LoadRequests:
    """Sends requests for loads, and repeats them while their scope is cold and not being loaded.

    A load whose connector was killed never ends, and nothing says so: when a load under way has
    brought nothing for a long time, it is asked for again.
    """

    def __init__(
        self,
        topic: Topic,
        snapshot: Callable[[int], StoreSnapshot | None],
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._snapshot = snapshot
        self._metrics = metrics
        self._waiting: dict[_Key, _Waiting] = {}
        """The oldest come first."""
        self._fresh: list[_Key] = []
        """The scopes for which the first request came since the last turn."""
        self._room = AT_ONCE_MAX
        """How many requests may be sent before the next tick."""
        self._tick_s = 0.0
        """When the next tick may be, by the event loop's clock."""
        self._due_s = math.inf
        """No request that waits is due before."""
        self._taken = asyncio.Event()
        """Set when there is something to send, or to be acknowledged, that wasn't there before, or
        when something is due earlier."""
        self._producer = SignalsProducer(topic)

    @property
    def waiting(self) -> int:
        """How many requests are unanswered."""
        return len(self._waiting)

    @property
    def oldest_age_s(self) -> float:
        """How long the oldest request has been unanswered; 0 if none is."""
        oldest = next(iter(self._waiting.values()), None)
        return 0.0 if oldest is None else self._clock() - oldest.asked_s

    def ask(self, shard: int, epoch: int, signals: Iterable[Signal]) -> None:
        """Takes the requests of a live batch once it is committed."""
        for signal in signals:
            self._take(shard, LoadRequest(epoch, signal.scope, signal.floor), None)

    def ask_for_reader(self, shard: int, request: LoadRequest) -> None:
        """Takes a reader's request; its scope may be older than the log and unknown here."""
        self._take(shard, request, Cold.NEVER_LOADED)

    async def order(self, signal: AnySignal) -> None:
        """Sends an operator's order by the same way; returns when the signals topic has it."""
        acknowledged = self._producer.order(signal)
        # The task that sends requests polls for acknowledgements in this event loop.
        self._taken.set()
        await acknowledged

    def forget(self, shard: int) -> None:
        """Drops the requests of a shard that another worker owns now."""
        for key in [key for key in self._waiting if key[0] == shard]:
            del self._waiting[key]

    async def run(self) -> None:
        """Sends requests until it is cancelled."""
        while not await asyncio.to_thread(self._producer.make_topic):
            await asyncio.sleep(MAKE_AGAIN_S)
        while True:
            if await self._is_tick():
                self._send_due()
            else:
                self._send_fresh()
            self._producer.poll()

    async def _is_tick(self) -> bool:
        """Waits for the next tick, or for the first request for a scope that comes before it."""
        while True:
            try:
                async with asyncio.timeout_at(self._next_tick_s()):
                    await self._taken.wait()
            except TimeoutError:
                self._tick_s = asyncio.get_running_loop().time() + TICK_S
                return True
            self._taken.clear()
            if self._fresh:
                return False

    def _next_tick_s(self) -> float | None:
        """When the next tick is due, by the event loop's clock. There is none while nothing is due
        or to be acknowledged, and all may be sent at once."""
        is_full = self._room < AT_ONCE_MAX
        if is_full or self._producer.unacknowledged > 0:
            return self._tick_s
        if not self._waiting:
            return None
        rest_s = self._due_s - self._clock()
        return max(self._tick_s, asyncio.get_running_loop().time() + rest_s)

    def close(self) -> None:
        """Sends what can be sent at once; whoever misses the rest asks again."""
        self._producer.flush()

    def _take(self, shard: int, request: LoadRequest, unknown: Cold | None) -> None:
        key = (shard, request.scope)
        waiting = self._waiting.get(key)
        if waiting is not None and waiting.covers(request):
            if unknown is not None:
                # Somebody waits for it, and its cause may have gone since it was last looked at.
                waiting.unknown = unknown
                waiting.due_s = min(waiting.due_s, waiting.looked_s + AGAIN_FIRST_S)
                self._bring_forward(waiting.due_s)
        elif waiting is not None or len(self._waiting) < WAITING_MAX:
            now = self._clock()
            self._waiting.pop(key, None)
            self._waiting[key] = _Waiting(request, unknown, now, now, now, now)
            self._bring_forward(now)
            # Reasons that follow each other quickly are one request: they wait for the tick.
            if waiting is None and len(self._fresh) < self._room:
                self._fresh.append(key)
                self._taken.set()

    def _bring_forward(self, due_s: float) -> None:
        if due_s < self._due_s:
            self._due_s = due_s
            self._taken.set()

    def _send_fresh(self) -> None:
        fresh, self._fresh = self._fresh, []
        self._room -= len(fresh)
        self._send_if_cold([key for key in fresh if key in self._waiting])

    def _send_due(self) -> None:
        now = self._clock()
        due = [key for key, waiting in self._waiting.items() if waiting.due_s <= now]
        self._fresh, self._room = [], AT_ONCE_MAX
        self._send_if_cold(due[:AT_ONCE_MAX])
        self._due_s = min((waiting.due_s for waiting in self._waiting.values()), default=math.inf)

    def _send_if_cold(self, keys: Iterable[_Key]) -> None:
        now = self._clock()
        views: dict[int, _View | None] = {}
        for key in keys:
            waiting = self._waiting[key]
            state = self._read_state(key, waiting, views)
            if state is not None and state.cold is None:
                del self._waiting[key]
            elif state is not None and waiting.is_early(state, now):
                waiting.looked_s, waiting.due_s = now, waiting.turn_s
            elif (request := waiting.take_turn(state, now)) is not None:
                self._send(request)

    def _read_state(
        self, key: _Key, waiting: _Waiting, views: dict[int, _View | None]
    ) -> _ScopeState | None:
        """What the store says of a scope now; None while its store can't be read. A store that is
        damaged concerns its shard alone, which meets the damage by itself."""
        shard, scope = key
        try:
            if shard not in views:
                snapshot = self._snapshot(shard)
                views[shard] = None if snapshot is None else _view(snapshot)
            view = views[shard]
            if view is None:
                return None
            reader, position = view
            cold = why_cold(reader, scope, waiting.unknown)
            if cold is None:
                return _ScopeState(None, None, waiting.request, position)
            request = with_objects(waiting.request, reader)
            return _ScopeState(cold, open_load(reader, scope), request, position)
        except MetatideError as error:
            views[shard] = None
            log.warning("a store can't be read for a request", shard=shard, why=str(error))
            return None

    def _send(self, request: LoadRequest) -> None:
        if self._producer.request(request):
            self._metrics.load_requests.inc()
