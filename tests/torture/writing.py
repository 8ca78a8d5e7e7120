"""Writers: each change sets the version of a table, its row and its event in one transaction."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Final

import psycopg
import sqlalchemy as sa

from hive.errors import MetatideError
from metatide.demo import notifications, tables
from metatide.demo.actor import Actor
from metatide.demo.makers import Maker
from metatide.demo.objects import Database, Table, TableKind
from metatide.demo.options import Limits, Size
from metatide.demo.pace import Pace
from metatide.demo.store import Store
from metatide.demo.structs import stored_table
from metatide.demo.workload import Style, Workload
from metatide.stack.postgres import connect
from tests.torture.history import TABLES, Truth

VERSION: Final = "version"
PAUSE_S: Final = 0.1
_LOST: Final = (psycopg.Error, sa.exc.SQLAlchemyError, MetatideError, OSError)


class Writers:
    """Threads that write, and can be paused."""

    def __init__(self, url: sa.URL, truth: Truth, count: int = 2) -> None:
        self._url, self._truth = url, truth
        text = url.render_as_string(hide_password=False)
        store = Store(text)
        workload = Workload(store.ids, store.session, store.schema, Size(1, 1, 4), Style())
        workload.prepare(Pace(Limits()))
        actor = workload.actor(1)
        self.database: Database = workload.catalog.databases[0]
        self._made: dict[str, Table] = {}
        for name in TABLES:
            made = actor.make.table(self.database, name, TableKind.EXTERNAL)
            made.parameters[VERSION] = "0"
            tables.create(actor, made)
            self._made[name] = made
            truth.tables[name].begin(0)
            truth.tables[name].finish()
        actor.sink.close()
        self._maker: Maker = actor.make
        self._catalog = workload.catalog
        self._threads = [
            threading.Thread(target=self._write, args=(Random(number),)) for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._truth.stop.set()
        for thread in self._threads:
            thread.join()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No write is under way, and none begins."""
        with ExitStack() as stack:
            for name in TABLES:
                stack.enter_context(self._truth.tables[name].lock)
            yield

    def stored(self, name: str) -> int:
        """The version in the database."""
        with connect(self._url) as connection:
            row = connection.execute(
                'SELECT "PARAM_VALUE" FROM "TABLE_PARAMS" WHERE "TBL_ID" = %s AND "PARAM_KEY" = %s',
                [self._made[name].id, VERSION],
            ).fetchone()
        assert row is not None
        return int(str(row[0]))

    def restored(self, versions: dict[str, int]) -> None:
        """The tables have these versions again; nobody writes."""
        for name, version in versions.items():
            self._made[name].parameters[VERSION] = str(version)

    def _write(self, random: Random) -> None:
        actor: Actor | None = None
        restores = -1
        while not self._truth.stop.is_set():
            name = random.choice(TABLES)
            history = self._truth.tables[name]
            with history.lock:
                try:
                    if actor is None or restores != self._truth.restores:
                        restores, actor = self._truth.restores, self._actor(random)
                except _LOST:
                    actor = None
                else:
                    version = next(self._truth.versions)
                    history.begin(version)
                    if not self._set(actor, name, version):
                        actor = None
                    else:
                        self._truth.writes += 1
            self._truth.stop.wait(PAUSE_S if actor is not None else 0.5)

    def _set(self, actor: Actor, name: str, version: int) -> bool:
        """Writes a version; if the connection was lost, asks the database whether it has it."""
        table, history = self._made[name], self._truth.tables[name]
        old = table.parameters
        before = stored_table(table)
        parameters = old | {VERSION: str(version)}
        try:
            changes = tables._set_parameters(table, parameters)
            actor.write(changes, notifications.alter_table(before, table))
        except _LOST:
            while not self._truth.stop.is_set():
                try:
                    stored = self.stored(name)
                except _LOST:
                    time.sleep(0.2)
                    continue
                if stored == version:
                    table.parameters = parameters
                    history.finish()
                else:
                    table.parameters = old
                    history.undo()
                return False
            return False
        history.finish()
        return True

    def _actor(self, random: Random) -> Actor:
        store = Store(self._url.render_as_string(hide_password=False))
        style = Style()
        return Actor(
            rng=random,
            catalog=self._catalog,
            ids=store.ids,
            make=self._maker,
            sink=store.session(),
            clock=style.clock,
            release=style.release,
            schema=store.schema,
            zipped_share=style.zipped_share,
        )
