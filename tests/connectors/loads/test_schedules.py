"""Loads while writers work: whatever comes between, the fold ends with what the database holds."""

from collections.abc import Callable, Iterator
from random import Random

import pytest

from connectors.loads.batch import Database, load
from connectors.loads.plan import everything
from hive.reader.snapshot import open_snapshot
from metatide.demo import script_mix
from metatide.demo.options import Limits, Size
from metatide.demo.pace import Pace
from metatide.demo.store import Store
from metatide.demo.workload import Style, Workload
from state.records import Scope, ScopeKind, databases_scope, names_scope
from state.records.table_lists import TableLists
from tests.connectors.loads.load_topic import Log, Topic, contents, differences

ROUNDS = 6
SIZE = Size(tables=6, partitions=40, column_layouts=4, skew=0.8)


class Schedule:
    """Writers, a connector and loads that take turns at random."""

    def __init__(self, store: Store, seed: int) -> None:
        self._rng = Random(seed)
        self._log = Log(store.engine, store.schema)
        self.database = Database(store.engine, store.schema)
        workload = Workload(store.ids, store.session, store.schema, SIZE, Style(seed=seed))
        pace = Pace(Limits())
        workload.prepare(pace)
        self._workload = workload
        self._actors = [workload.actor(number + 1) for number in range(2)]
        self._writers = [script_mix.steps(actor) for actor in self._actors]
        self._begun_at = self._log.position()
        self.topic = Topic(self._begun_at, self._meanwhile)

    def run(self) -> None:
        for _ in range(ROUNDS):
            scopes = self._some_scopes()
            load(self.database, self.topic, 0, scopes, lambda _: self._meanwhile())
        self._writers.clear()
        for actor in self._actors:
            actor.sink.close()
        self.publish(self._log.position())

    def settle(self) -> None:
        """What was asked for is loaded, and what is cold without having been asked for."""
        for _ in range(3):
            requests = {one for one in self.topic.signals if isinstance(one, Scope)} | self.cold()
            self.topic.signals.clear()
            if requests:
                load(self.database, self.topic, 0, sorted(requests, key=str))

    def close(self) -> None:
        self._log.close()

    def publish(self, upto: int) -> None:
        rows = [row for row in self._log.after(self.topic.published) if row.event_id <= upto]
        self.topic.publish(rows, upto)

    def cold(self) -> set[Scope]:
        """What can't be told though it is known of, and what was never loaded."""
        cold_scopes = set()
        begun = set()
        for reader in self.topic.readers():
            for catalog in reader.catalogs():
                loads = reader.databases_loads(catalog)
                scope = databases_scope(catalog)
                begun.add(scope)
                if loads is None or loads.cold(reader.head.applied, reader.head.floor):
                    cold_scopes.add(scope)
            for db in reader.database_names():
                loads = reader.names_loads(db)
                scope = names_scope(db)
                begun.add(scope)
                if loads is None or loads.cold(reader.head.applied, reader.head.floor):
                    cold_scopes.add(scope)
            for name in reader.table_names():
                state = reader.state(name)
                assert state is not None
                scope = Scope(ScopeKind.TABLE, name)
                begun.add(scope)
                applied, floor = reader.head.applied, reader.head.floor
                if state.loads.cold(applied, floor) or state.statistics_cold(applied, floor):
                    cold_scopes.add(scope)
                if reader.write_ids(name).cold:
                    cold_scopes.add(Scope(ScopeKind.WRITE_IDS, name))
        return cold_scopes | {scope for scope in self.all_scopes() if scope not in begun}

    def all_scopes(self) -> list[Scope]:
        """What there is now, and what there was."""
        with open_snapshot(*self.database) as snapshot:
            planned = everything(snapshot, TableLists([f"{self._workload.prefix}_*.*"]))
        scopes = {one.scope for one in planned}
        for reader in self.topic.readers():
            scopes |= {Scope(ScopeKind.TABLE, name) for name in reader.table_names()}
        return sorted(scopes, key=lambda scope: (scope.kind, scope.name))

    def _some_scopes(self) -> list[Scope]:
        scopes = self._rng.sample(every := self.all_scopes(), self._rng.randint(1, len(every)))
        tables = [scope for scope in scopes if scope.kind is ScopeKind.TABLE]
        ids = self._rng.sample(tables, self._rng.randint(0, len(tables)) // 2)
        return [*scopes, *(Scope(ScopeKind.WRITE_IDS, scope.name) for scope in ids)]

    def _meanwhile(self) -> None:
        if not self._writers:
            return
        for _ in range(self._rng.choice((0, 0, 1, 3))):
            next(self._rng.choice(self._writers))
        if self._rng.random() < 0.4:
            position = self._log.position()
            self.publish(self._rng.randint(self.topic.published, position))


@pytest.fixture(scope="module")
def store(new_metastore_database: Callable[[], str]) -> Iterator[Store]:
    store = Store(new_metastore_database())
    yield store
    store.engine.dispose()


def check(store: Store, seed: int) -> None:
    schedule = Schedule(store, seed)
    schedule.run()
    schedule.settle()
    assert not schedule.cold(), f"schedule {seed}"
    fresh = Topic(schedule.topic.published)
    load(schedule.database, fresh, 0, schedule.all_scopes())
    schedule.close()
    assert contents(fresh).keys() <= contents(schedule.topic).keys()
    assert None not in contents(fresh).values()
    assert differences(schedule.topic, fresh) == set(), f"schedule {seed}"


def test_the_fold_ends_with_what_the_database_holds(store: Store) -> None:
    for seed in range(6):
        check(store, seed)


@pytest.mark.torture
@pytest.mark.timeout(3_000)
def test_two_hundred_schedules(store: Store) -> None:
    for seed in range(1_000, 1_200):
        check(store, seed)
