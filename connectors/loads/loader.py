"""Loads planned and requested scopes in threads until it is stopped."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from connectors.loads import batch, plan
from connectors.loads.batch import Database
from connectors.loads.end_gate import EndGate
from connectors.loads.kafka_sink import KafkaSink
from connectors.loads.metrics import LoadFault, LoadMetrics
from connectors.loads.plan import Planned
from connectors.loads.progress import LoadProgress
from connectors.loads.queue import Queue
from connectors.loads.rereads import RequestedObjects, reread
from connectors.loads.signals import SignalsConsumer
from connectors.log.last_event import LastEvent, read_last_event
from connectors.orders import OrderWriter
from connectors.publish.watermark import Watermark
from hive.errors import (
    InputError,
    MachineError,
    NameFormatError,
    RefusedLoadError,
    SourceError,
    StoppedError,
)
from hive.names import storable
from hive.reader.engines import pooled_engine, without_limits
from hive.reader.snapshot import open_snapshot
from state.records import Scope, ScopeKind
from state.records.epochs import is_later
from state.records.routing import shards_of
from state.records.signals import (
    AnySignal,
    LoadRequest,
    Order,
    ResetTableOrder,
    SetListsOrder,
    SkipOrder,
)
from state.records.table_lists import TableLists
from state.topic import Topic

log = structlog.get_logger()
UNEXPECTED = "a load failed as none should"
UNTAKEN = "requests for loads can't be taken; trying again"
WORKERS = 2
_WAIT_S = 60.0
_RETRY_S_FIRST, _RETRY_S_MAX = 0.2, 2.0


def loads_engine(url: str) -> Engine:
    """An engine that keeps a connection for each thread: a login takes many round trips."""
    return without_limits(pooled_engine(url, WORKERS + 1))


class Loader:
    """Loads on threads of this process.

    A batch that fails is loaded again later under new load ids: the loads of the failed attempt
    never end, so none of their rows count. If it fails because of what is in it, each of its scopes
    is loaded alone, and the one that fails then is given up: whoever still misses it asks again.
    """

    def __init__(
        self,
        engine: Engine,
        topic: Topic,
        *,
        lists: TableLists | None = None,
        workers: int = WORKERS,
        metrics: LoadMetrics | None = None,
        watermark: Watermark | None = None,
    ) -> None:
        """Loads end when the events that they have seen are below the watermark of a connector, or
        at once if there is none."""
        self.metrics = metrics or LoadMetrics()
        self.progress = LoadProgress(self.metrics)
        self._engine = engine
        self._database: Database | None = None
        self._topic = topic
        self._lists = lists or TableLists()
        self._workers = workers
        self._watermark = watermark
        self._queue = Queue()
        self._requested = RequestedObjects()
        self._orders = OrderWriter(topic, self._last_event)
        self._stopped = threading.Event()
        self._epoch = 0
        self.requested_epoch = 0
        """The latest epoch in which workers have requested loads."""
        self._threads: list[threading.Thread] = []
        self._fault: MachineError | None = None
        self._signals: SignalsConsumer | None = None
        self.given_up = 0
        """The number of loads that were given up; the log names each."""

    def begin_epoch(self, epoch: int) -> None:
        """Sets the epoch of all further loads; the first call starts the loader."""
        if not self._threads:
            self.start(epoch)
        elif epoch != self._epoch:
            self._epoch = epoch
            self._queue.forget()

    def start(self, epoch: int, *, listens: bool = True) -> None:
        """Starts the threads; with `listens`, also the one that reads the signals topic."""
        assert not self._threads
        self._epoch = epoch
        work: list[Callable[[], None]] = [self._load_batches] * self._workers
        if listens:
            work.append(self._listen)
        for number, target in enumerate(work):
            thread = threading.Thread(target=target, name=f"loader-{number}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Ends all threads; whatever isn't loaded is left to the next run."""
        self._stopped.set()
        self._queue.close()
        for thread in self._threads:
            thread.join()
        self._threads.clear()
        self._orders.close()

    def plan(self, skip: Callable[[Scope], bool] = lambda _: False) -> list[Planned]:
        """Queues everything that the database holds, and returns it."""
        try:
            with open_snapshot(*self._find_database()) as snapshot:
                planned = plan.everything(snapshot, self._lists)
        except SQLAlchemyError as error:
            raise batch.unreadable(error) from error
        due = [item for item in planned if not skip(item.scope)]
        self.add(due)
        return due

    def add(self, planned: Iterable[Planned]) -> None:
        """Queues scopes."""
        self._queue.plan(planned)
        self.metrics.waiting.set(len(self._queue))

    def ask(self, request: LoadRequest) -> None:
        """Queues a requested scope before the planned ones.

        The lists of tables aren't checked here: shards know which tables these leave out, while a
        connector may have missed the last order.
        """
        try:
            storable(request.scope.name)
        except NameFormatError as error:
            self.metrics.requests.labels("refused").inc()
            log.warning("a load was refused", why=str(error))
            return
        if request.objects:
            self._requested.add(request.scope.name, request.objects)
        if is_later(request.epoch, self._epoch):
            self.requested_epoch = max(request.epoch, self.requested_epoch)
        if request.epoch <= self._epoch and self._queue.ask(request.scope, request.floor):
            result = "taken"
        else:
            result = "rests" if self._queue.rests(request.scope, request.floor) else "answered"
        self.metrics.requests.labels(result).inc()
        self.metrics.waiting.set(len(self._queue))

    @property
    def idle(self) -> bool:
        """Whether everything queued is loaded."""
        return self._queue.empty()

    @property
    def fault(self) -> MachineError | None:
        """The error that keeps loads from running at present."""
        return self._fault

    @property
    def backlog(self) -> int:
        """The number of scopes that wait to be loaded."""
        return len(self._queue)

    @property
    def running(self) -> int:
        """The number of scopes that are being loaded."""
        return self._queue.running

    @property
    def partitions(self) -> int:
        """All partitions of the signals topic."""
        return self._topic.shards

    @property
    def leads(self) -> int:
        """The partitions of the signals topic whose requests this loader answers."""
        signals = self._signals
        return 0 if signals is None else signals.partitions

    def _load_batches(self) -> None:
        wait_s = _RETRY_S_FIRST
        while not self._stopped.is_set():
            epoch = self._epoch
            try:
                with closing(
                    KafkaSink(self._topic, epoch, self.progress.sent, self._going_on)
                ) as sink:
                    while self._going_on() and epoch == self._epoch:
                        self._load_next(sink, epoch)
                        wait_s = _RETRY_S_FIRST
            except StoppedError:
                pass
            except MachineError as error:
                self._complain(error)
                self._stopped.wait(wait_s)
                wait_s = min(2 * wait_s, _RETRY_S_MAX)

    def _load_next(self, sink: KafkaSink, epoch: int) -> None:
        scopes = self._queue.take(_WAIT_S)
        self.metrics.waiting.set(len(self._queue))
        if not scopes:
            return
        if epoch != self._epoch:
            self._queue.done(scopes, None)
            return
        began, position = time.monotonic(), None
        first = scopes[0]
        log.info("loads begin", scopes=len(scopes), kind=first.kind.value, table=str(first.name))
        try:
            position = self._load(sink, epoch, scopes)
        except RefusedLoadError as error:
            self._note_refusal(scopes, error)
            return
        except BaseException:
            self._queue.done(scopes, None)
            raise
        vain_count = self._queue.done(scopes, position)
        if vain_count:
            self.metrics.vain.inc(vain_count)
            log.warning(
                "loads ended before the event that they were asked for, and are put off",
                scopes=vain_count,
                event_id=position,
                remedy="see MetatideLoadsInVain in docs/alerts.md",
            )
        self._fault = None
        took_s = time.monotonic() - began
        log.info("loads ended", scopes=len(scopes), event_id=position, took_s=round(took_s, 3))
        self.metrics.batch_s.observe(took_s)
        self.progress.ended(scopes)

    def _load(self, sink: KafkaSink, epoch: int, scopes: Sequence[Scope]) -> int:
        database = self._find_database()
        try:
            objects = [scope for scope in scopes if scope.kind is ScopeKind.OBJECTS]
            whole = [scope for scope in scopes if scope.kind is not ScopeKind.OBJECTS]
            positions = []
            if objects:
                positions.append(self._reread(database, sink, epoch, objects))
            if whole:
                gate = self._gate(database, epoch, whole)
                loaded = batch.load(database, sink, epoch, whole, self.progress.read, gate)
                positions.append(loaded.last.event_id)
        except batch.CONTENT_ERRORS as error:
            raise batch.refusal(database, error) from error
        except MachineError:
            raise
        except Exception as error:
            # A mistake of ours in one load must end neither the others nor this thread.
            log.error(UNEXPECTED, exc_info=error)
            raise RefusedLoadError(f"{type(error).__name__}: {error}") from error
        return min(positions)

    def _reread(
        self, database: Database, sink: KafkaSink, epoch: int, scopes: Sequence[Scope]
    ) -> int:
        wanted = {scope.name: self._requested.take(scope.name) for scope in scopes}
        try:
            return reread(database, sink, epoch, wanted, self._gate(database, epoch, scopes))
        except BaseException:
            for name, objects in wanted.items():
                self._requested.add(name, objects)
            raise

    def _gate(self, database: Database, epoch: int, scopes: Sequence[Scope]) -> EndGate | None:
        if self._watermark is None:
            return None
        return EndGate(
            self._watermark,
            epoch,
            {shard for scope in scopes for shard in shards_of(scope, self._topic.shards)},
            lambda: open_snapshot(*database),
            lambda: self._going_on() and epoch == self._epoch,
        )

    def _note_refusal(self, scopes: Sequence[Scope], error: RefusedLoadError) -> None:
        given_up = self._queue.refused(scopes)
        if given_up is None:
            return
        self.given_up += 1
        self.metrics.failed(LoadFault.REFUSED)
        log.error(
            "a load was given up",
            kind=given_up.kind.value,
            name=str(given_up.name),
            why=str(error),
            remedy="see MetatideLoadsGivenUp in docs/alerts.md",
        )

    def _find_database(self) -> Database:
        if self._database is None:
            try:
                self._database = batch.find_database(self._engine)
            except InputError as error:
                # Somebody may be about to upgrade it, or to correct its name.
                raise SourceError(str(error)) from error
        return self._database

    def _listen(self) -> None:
        """Takes signals until the loader stops; after a fault, as a new member of the group."""
        while not self._stopped.is_set():
            try:
                with closing(SignalsConsumer(self._topic)) as signals:
                    self._signals = signals
                    try:
                        self._take_signals(signals)
                    finally:
                        self._signals = None
            except MachineError as error:
                self._complain(error)
                self._stopped.wait(_RETRY_S_MAX)
            except Exception as error:
                log.error(UNTAKEN, exc_info=error)
                self._stopped.wait(_RETRY_S_MAX)

    def _take_signals(self, signals: SignalsConsumer) -> None:
        unreadable = self.metrics.requests.labels("unreadable").inc
        while not self._stopped.is_set():
            fault = signals.read(self._take_signal, unreadable)
            if fault is not None:
                self._complain(fault)
                self._stopped.wait(_RETRY_S_FIRST)

    def _take_signal(self, signal: AnySignal, offset: int) -> None:
        if isinstance(signal, LoadRequest):
            self.ask(signal)
        else:
            self._carry_out(signal, offset)

    def _carry_out(self, order: Order, offset: int) -> None:
        self._orders.write(self._epoch, order, offset)
        if isinstance(order, SetListsOrder | SkipOrder):
            # What the lists let in again, or a skipped record made unknown, was deleted meanwhile:
            # earlier loads don't count.
            self._queue.forget()
        elif isinstance(order, ResetTableOrder):
            scope = Scope(ScopeKind.TABLE, order.table)
            self._queue.forget_scope(scope)
            self._queue.forget_scope(Scope(ScopeKind.WRITE_IDS, order.table))
            if order.load:
                self.ask(LoadRequest(self._epoch, scope, 0))

    def _last_event(self) -> LastEvent:
        try:
            with open_snapshot(*self._find_database()) as snapshot:
                return read_last_event(snapshot)
        except SQLAlchemyError as error:
            raise batch.unreadable(error) from error

    def _complain(self, error: MachineError) -> None:
        self._fault = error
        is_source = isinstance(error, SourceError)
        self.metrics.failed(LoadFault.SOURCE if is_source else LoadFault.PUBLISH)
        log.error("loads wait", why=str(error))

    def _going_on(self) -> bool:
        return not self._stopped.is_set()
