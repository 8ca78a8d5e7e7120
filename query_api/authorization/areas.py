"""What an answer tells of, as far as somebody may or may not see it: tables, databases, lists."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple, Self

from hive.errors import InputError
from hive.names import DatabaseName, default_catalog
from hive.patterns import compile_pattern
from query_api.targets import Target, TargetKind, of_database

_PATTERN: Final = re.compile(r"[^\s,|.()#]+(\.[^\s,|.()#]+)?")
_LISTS: Final = frozenset((TargetKind.NAMES, TargetKind.FUNCTIONS))


class Area(NamedTuple):
    """A table with all that is in it; a database, but not its tables; the lists of what a database
    has; or everything. Names are empty where they don't count.
    """

    catalog: str
    db: str = ""
    table: str = ""
    is_list: bool = False
    """Whether it is the lists of a database."""

    @property
    def targets(self) -> tuple[Target, ...]:
        """What events may touch of a table or a database."""
        db = DatabaseName(self.catalog, self.db)
        database = of_database(TargetKind.DATABASE, db)
        if not self.table:
            return (database,)
        return Target(TargetKind.TABLE, db.table(self.table)), database


def area_of(target: Target) -> Area:
    """The area that a target belongs to."""
    catalog, db, table = target.name
    if target.is_of_table:
        return Area(catalog, db, table)
    return Area(catalog, db, is_list=bool(db) and target.kind in _LISTS)


def areas_of(targets: Iterable[Target]) -> frozenset[Area]:
    """The areas that these targets belong to."""
    return frozenset(map(area_of, targets))


class AreaPattern:
    """Tables by `DB.TABLE`, databases with all that is in them by `DB`, with Hive's `*` for any
    characters; everything by a single `*`.
    """

    def __init__(self, text: str) -> None:
        """Raises InputError."""
        if not _PATTERN.fullmatch(text):
            raise InputError(f"{text!r} isn't a pattern: expected DB.TABLE or DB, with * in them")
        db, _, table = text.partition(".")
        self._is_everything = text == "*"
        self._db = compile_pattern(db)
        self._table = compile_pattern(table) if table else None

    @classmethod
    def several(cls, texts: Iterable[str]) -> tuple[Self, ...]:
        return tuple(map(cls, texts))

    def covers(self, area: Area) -> bool:
        """Whether all of an area is meant. Only names of the default catalog are."""
        if area.catalog != default_catalog():
            return False
        if not area.db:
            return self._is_everything
        if not self._db.fullmatch(area.db):
            return False
        if self._table is None:
            return True
        return bool(area.table) and self._table.fullmatch(area.table) is not None

    def touches(self, area: Area) -> bool:
        """Whether anything in an area may be meant, in whatever catalog."""
        if not area.db:
            return True
        if not self._db.fullmatch(area.db):
            return False
        if self._table is None or area.is_list:
            return True
        return bool(area.table) and self._table.fullmatch(area.table) is not None
