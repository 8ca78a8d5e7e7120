"""A run of the workload: its catalog, its writers, its limits."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from hive.schema import Version
from metatide.demo import databases, partitions, script_mix, tables, transaction_rows
from metatide.demo.actor import Actor, Clock
from metatide.demo.catalog import Catalog
from metatide.demo.ids import Ids
from metatide.demo.makers import Maker, column_layouts
from metatide.demo.objects import USUAL_WAREHOUSE, Table, Warehouse
from metatide.demo.options import Release, Size
from metatide.demo.pace import Pace
from metatide.demo.sessions import Sink

DATABASES = 4
"""The number of databases over which the tables are spread."""

BULK = 500
"""The number of partitions that one event adds while the initial catalog is written."""


@dataclass(frozen=True)
class Style:
    """How the workload writes, and the seed of its decisions."""

    seed: int = 0
    release: Release = Release.HIVE_4_2
    zipped_share: float = 0.5
    """The share of messages that are compressed."""

    clock: Clock = time.time
    warehouse: Warehouse = USUAL_WAREHOUSE


class Workload:
    """Several writers on one catalog, in databases of their own."""

    def __init__(
        self,
        ids: Ids,
        open_sink: Callable[[], Sink],
        schema: Version,
        size: Size,
        style: Style,
    ) -> None:
        self.size = size
        self.prefix = f"demo{ids.take('DBS')}"
        # Some places stay free, so that tables can be created before others are dropped.
        places = size.tables + max(4, size.tables // 8)
        self.catalog = Catalog(self.prefix, places, size.skew)
        self._ids = ids
        self._open_sink = open_sink
        self._schema = schema
        self._style = style
        self._layouts = column_layouts(Random(style.seed), size.column_layouts)
        self._actors: list[Actor] = []

    def actor(self, number: int) -> Actor:
        """A new writer, whose decisions depend on its number."""
        style = self._style
        rng = Random(f"{style.seed}/{number}")
        actor = Actor(
            rng=rng,
            catalog=self.catalog,
            ids=self._ids,
            make=Maker(rng, self._ids, style.clock, self._layouts, style.warehouse),
            sink=self._open_sink(),
            clock=style.clock,
            release=style.release,
            schema=self._schema,
            zipped_share=style.zipped_share,
        )
        self._actors.append(actor)
        return actor

    @property
    def events(self) -> int:
        """The number of events written."""
        return sum(actor.events for actor in self._actors)

    def prepare(self, pace: Pace) -> None:
        """Creates the databases, tables and partitions of the initial size, with events."""
        actor = self.actor(0)
        try:
            for number in range(DATABASES):
                name = f"{self.prefix}_{number}"
                self.catalog.databases.append(databases.create(actor, name))
            partitioned = [table for table in self._create_tables(actor, pace) if table.keys]
            for table, count in zip(partitioned, self.shares(len(partitioned)), strict=True):
                for done in range(0, count, BULK):
                    if pace.ended:
                        return
                    partitions.add(actor, table, min(BULK, count - done), None)
        finally:
            actor.sink.close()

    def _create_tables(self, actor: Actor, pace: Pace) -> list[Table]:
        made: list[Table] = []
        for place in self.catalog.take_places(self.size.tables):
            if not pace.ended:
                table = self.new_table(actor)
                _create(actor, table)
                self.catalog.put(place, table)
                made.append(table)
        return made

    def new_table(self, actor: Actor) -> Table:
        """A new table in one of the databases; it isn't written yet."""
        database = actor.rng.choice(self.catalog.databases)
        name = self.catalog.take_name(actor.rng, database)
        return actor.make.table(database, name, actor.make.kind())

    def shares(self, count: int) -> Sequence[int]:
        """The number of partitions of each table, by Zipf's law."""
        if not count:
            return []
        weights = [1 / (rank + 1) ** self.size.skew for rank in range(count)]
        scale = self.size.partitions / sum(weights)
        ends = [round(end * scale) for end in accumulate(weights)]
        return [end - start for start, end in zip([0, *ends], ends, strict=False)]

    def run(self, writers: int, pace: Pace) -> None:
        """Runs all writers until the pace ends; the first failure ends them all, and is raised."""
        failures: list[BaseException] = []

        def write(actor: Actor) -> None:
            try:
                steps = script_mix.steps(actor)
                while pace.go_on(self.events):
                    next(steps)
            except BaseException as failure:
                failures.append(failure)
                pace.end()
            finally:
                actor.sink.close()

        actors = [self.actor(1 + number) for number in range(writers)]
        threads = [threading.Thread(target=write, args=(actor,)) for actor in actors]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            pace.end()
            for thread in threads:
                thread.join()
        if failures:
            raise failures[0]


def _create(actor: Actor, table: Table) -> None:
    if not table.kind.managed:
        tables.create(actor, table)
        return
    txn = transaction_rows.begin(actor)
    transaction_rows.allocate(actor, [txn], table)
    tables.create(actor, table, txn.id)
    transaction_rows.commit(actor, txn)
