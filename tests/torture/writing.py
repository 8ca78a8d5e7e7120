"""Writers: each change sets the version of a table, its row and its event in one transaction."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Final, Protocol

import psycopg
import sqlalchemy as sa
from thriftpy2.thrift import TException

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
from metatide.stack import postgres
from tests.support.hive.hms_client import connect
from tests.torture.history import BY_METASTORE, TABLES, Truth

VERSION: Final = "version"
PAUSE_S: Final = 0.5
_CALL_S: Final = 120.0
_LOST: Final = (psycopg.Error, sa.exc.SQLAlchemyError, MetatideError, OSError, TException)


class Hand(Protocol):
    """How a writer writes."""

    def set(self, table: Table, parameters: dict[str, str]) -> None: ...

    def close(self) -> None: ...


class _SqlHand:
    """Rows and event by SQL, as a metastore writes them."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor

    def set(self, table: Table, parameters: dict[str, str]) -> None:
        before = stored_table(table)
        changes = tables._set_parameters(table, parameters)
        self._actor.write(changes, notifications.alter_table(before, table))

    def close(self) -> None:
        self._actor.sink.close()


class _MetastoreHand:
    """Calls of a metastore."""

    def __init__(self, address: str) -> None:
        self._connection = ExitStack()
        # The metastore tries again by itself, while somebody locks the sequence or the database
        # is away: what it does after its client has gone nobody would know.
        connection = connect(address, int(_CALL_S * 1000))
        self._client = self._connection.enter_context(connection)

    def set(self, table: Table, parameters: dict[str, str]) -> None:
        stored = self._client.table(table.database.name, table.name)
        stored.parameters[VERSION] = parameters[VERSION]
        # Statistics would be counted in the table's folder, which isn't there.
        keep = {"DO_NOT_UPDATE_STATS": "true"}
        self._client.alter_table(table.database.name, table.name, stored, properties=keep)
        table.parameters = parameters

    def close(self) -> None:
        self._connection.close()


class Writers:
    """Threads that write, and can be paused: some by SQL, one through the metastore."""

    def __init__(self, url: sa.URL, metastore: str, truth: Truth, count: int = 2) -> None:
        self._url, self._metastore, self._truth = url, metastore, truth
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
        by_sql = [name for name in TABLES if name not in BY_METASTORE]
        hands = [(by_sql, self._by_sql)] * count + [(BY_METASTORE, self._by_metastore)]
        self._threads = [
            threading.Thread(target=self._write, args=(names, make, Random(number)))
            for number, (names, make) in enumerate(hands)
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
        query = 'SELECT "PARAM_VALUE" FROM "TABLE_PARAMS" WHERE "TBL_ID" = %s AND "PARAM_KEY" = %s'
        with postgres.connect(self._url) as connection, connection.transaction():
            # A commit may be on its way whose writer has gone: its rows are locked until then.
            connection.execute(f"{query} FOR UPDATE", [self._made[name].id, VERSION])
            row = connection.execute(query, [self._made[name].id, VERSION]).fetchone()
        assert row is not None
        return int(str(row[0]))

    def restored(self, versions: dict[str, int]) -> None:
        """The tables have these versions again; nobody writes."""
        for name, version in versions.items():
            self._made[name].parameters[VERSION] = str(version)

    def _write(self, names: Sequence[str], make: Callable[[Random], Hand], random: Random) -> None:
        with ExitStack() as stack:
            hand: Hand | None = None
            restores = -1
            while not self._truth.stop.is_set():
                name = random.choice(names)
                history = self._truth.tables[name]
                with history.lock:
                    try:
                        if hand is None or restores != self._truth.restores:
                            stack.close()
                            restores, hand = self._truth.restores, make(random)
                            stack.callback(hand.close)
                    except _LOST:
                        hand = None
                    else:
                        version = next(self._truth.versions)
                        history.begin(version)
                        if not self._set(hand, name, version):
                            hand = None
                self._truth.stop.wait(PAUSE_S if hand is not None else 0.5)

    def _set(self, hand: Hand, name: str, version: int) -> bool:
        """Writes a version; if the connection was lost, asks the database whether it has it."""
        table, history = self._made[name], self._truth.tables[name]
        old = table.parameters
        parameters = old | {VERSION: str(version)}
        try:
            hand.set(table, parameters)
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
        self._truth.count("writes", *(["by_metastore"] if name in BY_METASTORE else []))
        return True

    def _by_sql(self, random: Random) -> Hand:
        return _SqlHand(self._actor(random))

    def _by_metastore(self, _: Random) -> Hand:
        return _MetastoreHand(self._metastore)

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
