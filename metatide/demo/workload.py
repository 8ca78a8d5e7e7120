"""A run: the catalog it works on, its writers, its limits."""

import threading
import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from random import Random

from metatide.demo import databases, mix, partitions, tables, txns
from metatide.demo.actor import Actor, Clock
from metatide.demo.catalog import Catalog
from metatide.demo.ids import Ids
from metatide.demo.makers import Maker, column_layouts
from metatide.demo.objects import Table
from metatide.demo.options import Limits, Release, Size
from metatide.demo.pace import Pace
from metatide.demo.sessions import Sink

DATABASES = 4
"""How many databases the tables are in."""

BULK = 500
"""How many partitions one event adds while the catalog is made."""


class Workload:
    """Writers on one catalog of their own, in databases of their own."""

    def __init__(
        self,
        ids: Ids,
        open_sink: Callable[[], Sink],
        *,
        seed: int = 0,
        size: Size | None = None,
        release: Release = Release.HIVE_4_2,
        zipped_share: float = 0.5,
        clock: Clock = time.time,
    ) -> None:
        self.size = size or Size()
        self._ids = ids
        self._open_sink = open_sink
        self._seed = seed
        self._release = release
        self._zipped_share = zipped_share
        self._clock = clock
        self.prefix = f"demo{ids.take('DBS')}"
        # Some places are free, so that tables can be created before others are dropped.
        places = self.size.tables + max(4, self.size.tables // 8)
        self.catalog = Catalog(self.prefix, places, self.size.skew)
        self._layouts = column_layouts(Random(seed), self.size.storage_descriptors)
        self.actors: list[Actor] = []

    def actor(self, number: int) -> Actor:
        """Another writer, whose decisions are those of its number."""
        rng = Random(f"{self._seed}/{number}")
        actor = Actor(
            rng=rng,
            catalog=self.catalog,
            ids=self._ids,
            make=Maker(rng, self._ids, self._clock, self._layouts),
            sink=self._open_sink(),
            clock=self._clock,
            release=self._release,
            zipped_share=self._zipped_share,
        )
        self.actors.append(actor)
        return actor

    @property
    def events(self) -> int:
        """How many events were written."""
        return sum(actor.events for actor in self.actors)

    def prepare(self, pace: Pace) -> None:
        """The databases, and tables and partitions of the size that was asked for, with events."""
        actor = self.actor(0)
        try:
            self._prepare(actor, pace)
        finally:
            actor.sink.close()

    def _prepare(self, actor: Actor, pace: Pace) -> None:
        for number in range(DATABASES):
            self.catalog.databases.append(databases.create(actor, f"{self.prefix}_{number}"))
        made: list[Table] = []
        for place in self.catalog.take_places(self.size.tables):
            if pace.ended:
                return
            table = self.new_table(actor)
            self._create(actor, table)
            self.catalog.put(place, table)
            made.append(table)
        partitioned = [table for table in made if table.keys]
        for table, count in zip(partitioned, self.shares(len(partitioned)), strict=True):
            for done in range(0, count, BULK):
                if pace.ended:
                    return
                partitions.add(actor, table, min(BULK, count - done), None)

    def new_table(self, actor: Actor) -> Table:
        """A table of one of the databases, not yet written."""
        database = actor.rng.choice(self.catalog.databases)
        name = self.catalog.take_name(actor.rng, database)
        return actor.make.table(database, name, actor.make.kind())

    def _create(self, actor: Actor, table: Table) -> None:
        if not table.kind.managed:
            tables.create(actor, table)
            return
        txn = txns.begin(actor)
        txns.allocate(actor, [txn], table)
        tables.create(actor, table, txn.id)
        txns.commit(actor, txn)

    def shares(self, tables_partitioned: int) -> Sequence[int]:
        """How many of all partitions each of so many tables has, by Zipf's law."""
        if not tables_partitioned:
            return []
        weights = [1 / (rank + 1) ** self.size.skew for rank in range(tables_partitioned)]
        scale = self.size.partitions / sum(weights)
        ends = [round(end * scale) for end in accumulate(weights)]
        return [end - start for start, end in zip([0, *ends], ends, strict=False)]

    def run(self, limits: Limits, pace: Pace) -> None:
        """All writers until a limit is reached; the first failure ends all and is raised."""
        failures: list[BaseException] = []

        def write(actor: Actor) -> None:
            try:
                for _ in mix.steps(actor):
                    if not pace.go_on(self.events):
                        break
            except BaseException as failure:
                failures.append(failure)
                pace.end()
            finally:
                actor.sink.close()

        actors = [self.actor(1 + number) for number in range(limits.writers)]
        threads = [threading.Thread(target=write, args=(actor,)) for actor in actors]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
