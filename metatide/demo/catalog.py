"""The objects that the writers share: a writer holds the lock of the table or database it works
on.
"""

from bisect import bisect
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import accumulate, count
from random import Random
from threading import Lock

from metatide.demo.bag import Bag
from metatide.demo.objects import Database, Table
from metatide.demo.transactions import Transaction

TRIES = 12
"""The number of attempts to find a table that is free and suitable."""

PASSING_NAMES = 1_000
"""How many databases may come and go at the same time; each name is used again and again."""


class Catalog:
    """Databases and tables. A table has one of a fixed number of places, chosen by Zipf's law."""

    def __init__(self, prefix: str, places: int, skew: float) -> None:
        self.databases: list[Database] = []
        self._passing = deque(f"{prefix}_passing{number}" for number in range(PASSING_NAMES))
        self._abandoned: deque[Transaction] = deque()
        self.compactions = count(1)
        """Ids of compactions."""
        self._places: list[Table | None] = [None] * places
        self._place_of: dict[Table, int] = {}
        self._free: Bag[int] = Bag(range(places))
        self._weights = list(accumulate(1 / (rank + 1) ** skew for rank in range(places)))
        self._lock = Lock()

    @property
    def places(self) -> int:
        """The maximum number of tables."""
        return len(self._places)

    def free_places(self) -> int:
        """The number of places without a table."""
        return len(self._free)

    def take_passing_name(self) -> str:
        """The name for a temporary database: the one that has been free for the longest time."""
        with self._lock:
            return self._passing.popleft()

    def free_passing_name(self, name: str) -> None:
        """Frees the name of a temporary database that was dropped."""
        with self._lock:
            self._passing.append(name)

    @contextmanager
    def hold(
        self, rng: Random, fits: Callable[[Table], bool] = lambda _: True
    ) -> Iterator[Table | None]:
        """Holds a suitable table that no other writer holds, if one can be found quickly."""
        for _ in range(TRIES):
            place = bisect(self._weights, rng.random() * self._weights[-1])
            table = self._places[min(place, len(self._places) - 1)]
            if table is None or not fits(table) or not table.lock.acquire(blocking=False):
                continue
            try:
                if not table.dropped and fits(table):
                    yield table
                    return
            finally:
                table.lock.release()
        yield None

    @contextmanager
    def hold_again(self, tables: Sequence[Table]) -> Iterator[None]:
        """Holds these tables, for a writer that holds none; always in the same order, to
        prevent deadlocks.
        """
        with ExitStack() as stack:
            for table in sorted(set(tables), key=lambda each: each.id):
                stack.enter_context(table.lock)
            yield

    @contextmanager
    def hold_database(self, rng: Random) -> Iterator[Database | None]:
        """Holds a database chosen at random, unless another writer holds it."""
        database = rng.choice(self.databases)
        if not database.lock.acquire(blocking=False):
            yield None
            return
        try:
            yield database
        finally:
            database.lock.release()

    def take_place(self, rng: Random) -> int | None:
        """Reserves a place for a new table; None if all are taken."""
        with self._lock:
            if not self._free:
                return None
            place = self._free.choice(rng)
            self._free.remove(place)
            return place

    def take_places(self, count: int) -> list[int]:
        """Reserves places for new tables, in order; there must be enough."""
        with self._lock:
            taken = sorted(self._free)[:count]
            for place in taken:
                self._free.remove(place)
            return taken

    def put(self, place: int, table: Table) -> None:
        """Adds a table in its reserved place."""
        with self._lock:
            self._places[place] = table
            self._place_of[table] = place

    def remove(self, table: Table) -> None:
        """Removes a table and frees its name."""
        with self._lock:
            place = self._place_of.pop(table)
            self._places[place] = None
            self._free.add(place)
            table.database.free_names.append(table.name)

    def take_name(self, rng: Random, database: Database) -> str:
        """A name for a table of this database: often the one freed last."""
        with self._lock:
            if database.free_names and rng.random() < 0.7:
                return database.free_names.pop()
            database.names_made += 1
            return f"t{database.names_made:05d}"

    def abandon(self, txn: Transaction) -> None:
        """Takes note of a transaction that its client leaves open."""
        self._abandoned.append(txn)

    def take_abandoned(self, keep: int) -> Transaction | None:
        """The oldest of the transactions left open, if there are more than a few."""
        with self._lock:
            return self._abandoned.popleft() if len(self._abandoned) > keep else None

    def free_name(self, database: Database, name: str) -> None:
        """Frees the name of a table."""
        with self._lock:
            database.free_names.append(name)
