"""Sends the connectors requests for loads that the fold found missing, and operators' orders."""

import asyncio
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import structlog
from confluent_kafka import KafkaError, KafkaException, Producer

from hive.errors import MetatideError, TopicError
from processors.fold import Signal
from processors.worker.metrics import Metrics
from state.loads import Cold, Loads, OpenLoad
from state.records import Scope, ScopeKind
from state.records.signals import AnySignal, LoadRequest, encode_signal, signal_key
from state.shard_reader import ShardReader
from state.store import StoreSnapshot
from state.topic import Topic
from state.topic.creation import create_signals
from state.topic.settings import QUIET, REQUEST_TIMEOUT_S, reason

TICK_S: Final = 0.1
MAKE_AGAIN_S: Final = 1.0
AGAIN_FIRST_S: Final = 10.0
AGAIN_MAX_S: Final = 600.0
STALLED_S: Final = 300.0
"""A load that has brought nothing for so long has most likely ended with its connector."""
WAITING_MAX: Final = 100_000
AT_ONCE_MAX: Final = 200
"""How many requests are sent in a tick: a broken chain makes a whole shard cold at once."""

_Key = tuple[int, Scope]
"""A shard and what it lacks."""

log = structlog.get_logger(__name__)


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
    again_s: float = AGAIN_FIRST_S
    progress: tuple[str, int, int] | None = None
    """How far the load was that was under way when it was last looked for."""
    progressed_s: float = 0.0

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


class _Looked(NamedTuple):
    """What a store says of a request."""

    cold: Cold | None
    """Why its scope is cold; None if it isn't."""
    opened: OpenLoad | None
    request: LoadRequest
    """The request as it would be sent now."""


class Signals:
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
        self._topic = topic
        self._name = topic.signals
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
        # Not idempotent: a request that comes twice is one, and brokers that lose records have an
        # idempotent producer fail for good.
        self._producer = Producer(
            {
                **topic.client,
                "queue.buffering.max.messages": 10_000,
                "message.timeout.ms": 10_000,
            },
            logger=QUIET,
        )

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
        """Sends an order and returns when the signals topic has it."""
        loop = asyncio.get_running_loop()
        acknowledged: asyncio.Future[None] = loop.create_future()

        def settle(error: KafkaError | None) -> None:
            if acknowledged.done():
                return
            if error is None:
                acknowledged.set_result(None)
            else:
                why = f"{self._name} didn't take it: {reason(error)}"
                acknowledged.set_exception(TopicError(why))

        def tell(error: KafkaError | None, _: object) -> None:
            # At the end another thread waits for what is on its way.
            loop.call_soon_threadsafe(settle, error)

        try:
            self._producer.produce(
                self._name, encode_signal(signal), signal_key(signal), on_delivery=tell
            )
        except BufferError:
            raise TopicError(f"too many messages wait for {self._name}; try again") from None
        except KafkaException as error:
            raise TopicError(f"{self._name} can't take the order: {reason(error)}") from None
        # The task that sends requests polls for acknowledgements in this event loop.
        self._taken.set()
        await acknowledged

    def forget(self, shard: int) -> None:
        """Drops the requests of a shard that another worker owns now."""
        for key in [key for key in self._waiting if key[0] == shard]:
            del self._waiting[key]

    async def run(self) -> None:
        """Sends requests until it is cancelled."""
        while not await asyncio.to_thread(self._make_topic):
            await asyncio.sleep(MAKE_AGAIN_S)
        while True:
            if await self._is_tick():
                self._send_due()
            else:
                self._send_fresh()
            self._producer.poll(0)

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
        if is_full or len(self._producer) > 0:
            return self._tick_s
        if not self._waiting:
            return None
        rest_s = self._due_s - self._clock()
        return max(self._tick_s, asyncio.get_running_loop().time() + rest_s)

    def close(self) -> None:
        """Sends what can be sent at once; whoever misses the rest asks again."""
        self._producer.flush(1.0)

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
            self._waiting[key] = _Waiting(request, unknown, now, now, now)
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
        self._send_first([key for key in fresh if key in self._waiting])

    def _send_due(self) -> None:
        now = self._clock()
        due = [key for key, waiting in self._waiting.items() if waiting.due_s <= now]
        self._fresh, self._room = [], AT_ONCE_MAX
        self._send_first(due[:AT_ONCE_MAX])
        self._due_s = min((waiting.due_s for waiting in self._waiting.values()), default=math.inf)

    def _send_first(self, keys: Iterable[_Key]) -> None:
        now = self._clock()
        readers: dict[int, ShardReader | None] = {}
        for key in keys:
            waiting = self._waiting[key]
            looked = self._look(key, waiting, readers)
            if looked is not None and looked.cold is None:
                del self._waiting[key]
                continue
            opened = None if looked is None else looked.opened
            again_s = waiting.again_s if opened is None else min(waiting.again_s, STALLED_S)
            waiting.looked_s, waiting.due_s = now, now + again_s
            waiting.again_s = min(2 * waiting.again_s, AGAIN_MAX_S)
            stalled = opened is not None and waiting.has_stalled(opened, now)
            if looked is not None and (stalled or looked.cold not in (Cold.LOADING, Cold.AHEAD)):
                self._send(looked.request)

    def _look(
        self, key: _Key, waiting: _Waiting, readers: dict[int, ShardReader | None]
    ) -> _Looked | None:
        """Reads whether a scope is still cold; None while its store can't be read. A store that is
        damaged concerns its shard alone, which meets the damage by itself."""
        shard, scope = key
        try:
            if shard not in readers:
                snapshot = self._snapshot(shard)
                readers[shard] = None if snapshot is None else ShardReader(snapshot)
            reader = readers[shard]
            if reader is None:
                return None
            cold = why_cold(reader, scope, waiting.unknown)
            if cold is None:
                return _Looked(None, None, waiting.request)
            return _Looked(cold, _open_load(reader, scope), _named(waiting.request, reader))
        except MetatideError as error:
            readers[shard] = None
            log.warning("a store can't be read for a request", shard=shard, why=str(error))
            return None

    def _send(self, request: LoadRequest) -> None:
        try:
            self._producer.produce(
                self._name,
                encode_signal(request),
                signal_key(request),
                on_delivery=_log_undelivered,
            )
        except (BufferError, KafkaException) as error:
            log.warning("a load can't be requested", scope=str(request.scope)[:200], why=str(error))
            return
        self._metrics.load_requests.inc()

    def _make_topic(self) -> bool:
        """Creates the signals topic unless it exists; returns whether it does."""
        admin = self._topic.admin()
        try:
            if self._name not in admin.list_topics(timeout=REQUEST_TIMEOUT_S).topics:
                create_signals(self._topic)
        except KafkaException as error:
            log.info("the signals topic wasn't created", why=reason(error))
            return False
        return True


def why_cold(reader: ShardReader, scope: Scope, unknown: Cold | None) -> Cold | None:
    """Why the shard can't answer for a scope: None if it can, `unknown` if it knows nothing of
    it."""
    name, head = scope.name, reader.head
    match scope.kind:
        case ScopeKind.TABLE:
            state = reader.state(name)
            return unknown if state is None else state.statistics_cold(head.applied, head.floor)
        case ScopeKind.OBJECTS:
            state = reader.state(name)
            return Cold.DOUBT if state is not None and state.doubtful else None
        case ScopeKind.WRITE_IDS:
            if reader.state(name) is None:
                return unknown
            return Cold.DOUBT if reader.write_ids(name).cold else None
    loads = _loads(reader, scope)
    return unknown if loads is None else loads.cold(head.applied, head.floor)


def _open_load(reader: ShardReader, scope: Scope) -> OpenLoad | None:
    """The load of a scope that has begun and not ended."""
    loads = _loads(reader, scope)
    return None if loads is None else loads.open


def _loads(reader: ShardReader, scope: Scope) -> Loads | None:
    """The loads of a scope; None if the shard knows nothing of it, or objects are only reread."""
    match scope.kind:
        case ScopeKind.TABLE:
            state = reader.state(scope.name)
            return None if state is None else state.loads
        case ScopeKind.NAMES:
            return reader.names_loads(scope.name.database)
        case ScopeKind.DATABASES:
            return reader.databases_loads(scope.name.catalog)
    return None


def _named(request: LoadRequest, reader: ShardReader) -> LoadRequest:
    """The request; if it is for objects of a table, with those that are in doubt now."""
    if request.scope.kind is not ScopeKind.OBJECTS:
        return request
    state = reader.state(request.scope.name)
    assert state is not None
    objects = tuple(sorted(state.doubtful))
    floor = max(doubt.event for doubt in state.doubtful.values())
    return LoadRequest(request.epoch, request.scope, floor, objects)


def _log_undelivered(error: object, _: object) -> None:
    if error is not None:
        log.warning("a request for a load wasn't sent", why=str(error))
