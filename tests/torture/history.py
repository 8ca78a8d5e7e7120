"""What the database held, table by table, and when."""

import itertools
import threading
from collections import Counter
from typing import Final

TABLES: Final = tuple(f"t{number}" for number in range(16))
BY_METASTORE: Final = TABLES[12:]
"""The tables that are written through the metastore; the others by SQL, as one would write."""


class History:
    """The versions that a table had. A write is entered before it begins; one that is restored is
    entered again.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        """Held by the writer of the table."""

        self._versions: list[int] = []
        self._certain = -1
        self._entering = threading.Lock()

    def begin(self, version: int) -> None:
        with self._entering:
            self._versions.append(version)

    def finish(self) -> None:
        with self._entering:
            self._certain = len(self._versions) - 1

    def undo(self) -> None:
        with self._entering:
            self._versions.pop()

    @property
    def last(self) -> int:
        return self._versions[-1]

    @property
    def certain(self) -> int:
        """The place of the last version that readers that begin now must see."""
        return self._certain

    def place(self, version: int) -> int:
        """The last place at which the table had this version; -1 if it never did."""
        with self._entering:
            places = [n for n, entered in enumerate(self._versions) if entered == version]
        return places[-1] if places else -1

    def show(self, place: int) -> None:
        """A reader has seen it, so that all later ones must."""
        with self._entering:
            self._certain = max(self._certain, place)


class Truth:
    """The histories of all tables, and what has been said against them."""

    def __init__(self) -> None:
        self.tables = {name: History() for name in TABLES}
        self.versions = itertools.count(1)
        self.restores = 0
        self.stop = threading.Event()
        self.wrong: list[str] = []
        self._counts: Counter[str] = Counter()
        self._counting = threading.Lock()

    def count(self, *names: str) -> None:
        with self._counting:
            self._counts.update(names)

    def counts(self) -> Counter[str]:
        """So many reads and writes so far, of each kind."""
        with self._counting:
            return self._counts.copy()
