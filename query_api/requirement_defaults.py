"""What a deployment demands of answers to requests that state no requirement."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import msgspec

from hive.errors import InputError
from hive.names import TableName
from hive.patterns import compile_pattern
from query_api.consistency import Consistency
from query_api.reads.read import Read
from query_api.targets import Target, TargetKind
from state.records.table_lists import check_patterns

AGE_MS: Final = 100
_CURRENT: Final = (Consistency.WITHIN, Consistency.LATEST)
"""The consistencies that depend on what is current in the database."""
_DEFAULTS: Final = (Consistency.ANY, *_CURRENT)
"""The consistencies that need nothing but a word, the strictest last."""
Tables = tuple[tuple[str, Consistency], ...]
"""Consistencies by patterns of tables."""


class Defaults(msgspec.Struct, frozen=True):
    """The defaults for requests that state no requirement."""

    consistency: Consistency = Consistency.LATEST
    tables: Tables = ()
    """Consistencies for tables that match Hive's patterns over `db.table`; the first match counts.
    """
    floor: Consistency = Consistency.ANY
    """The least consistency of every answer: `any` or `latest`."""
    never_current: str | None = None
    """Why no answer can be known to be current; None if one can."""
    max_age_ms: int = AGE_MS
    """The age for `within`."""

    def __post_init__(self) -> None:
        check_patterns(pattern for pattern, _ in self.tables)
        defaults = (self.consistency, *(by_table for _, by_table in self.tables))
        for consistency in defaults:
            if consistency not in _DEFAULTS:
                raise InputError(f"{consistency} can't be a default: write latest, within or any")
        if self.floor not in (Consistency.ANY, Consistency.LATEST):
            raise InputError(f"the floor is any or latest, not {self.floor}")
        current = next((name for name in _CURRENT if name in (self.floor, *defaults)), None)
        if self.never_current is not None and current is not None:
            raise InputError(
                f"{current} can't be the default or the floor: {self.never_current}; until then "
                "set reads.consistency to any, and reads.tables and reads.floor to nothing else"
            )

    def of(self, read: Read[Any]) -> Consistency:
        """The consistency for a request that names none and sends no write-id list: of what is
        read, the strictest.
        """
        if not self.tables:
            return self.consistency
        if read.of_table is not None:
            return self._of_table(read.of_table)
        return _strictest(map(self._of_subject, read.subjects)) or self.consistency

    def _of_subject(self, subject: Target) -> Consistency:
        if subject.is_of_table:
            return self._of_table(subject.name)
        if subject.kind is not TargetKind.NAMES:
            return self.consistency
        return _of_list(self.tables, subject.name.db, self.consistency)

    def _of_table(self, table: TableName) -> Consistency:
        return _by_pattern(self.tables, table.in_catalog) or self.consistency

    def bound(self, consistency: Consistency, max_age_ms: int | None = None) -> tuple[bool, int]:
        """The values of `must_be_current` and `max_age_ms` for a requirement with this consistency,
        and with this age if it names one.
        """
        if Consistency.LATEST in (consistency, self.floor):
            return True, 0
        if consistency is Consistency.WITHIN:
            return True, max_age_ms or self.max_age_ms
        return False, 0


@lru_cache(maxsize=16_384)
def _by_pattern(tables: Tables, name: str) -> Consistency | None:
    return next(
        (
            consistency
            for pattern, consistency in tables
            if compile_pattern(pattern).fullmatch(name)
        ),
        None,
    )


@lru_cache(maxsize=4096)
def _of_list(tables: Tables, db: str, otherwise: Consistency) -> Consistency:
    """The consistency of a list of tables: of this database, or of all if it is empty. It is no
    less strict than the one of any table that the list may hold.
    """
    of_patterns = [
        consistency for pattern, consistency in tables if not db or _may_match(pattern, db)
    ]
    return _strictest([otherwise, *of_patterns]) or otherwise


def _may_match(pattern: str, db: str) -> bool:
    """Whether a pattern over `db.table` matches any name in this database: then some beginning of
    it matches `db.`, and a table may be called by whatever follows.
    """
    return any(
        compile_pattern(alternative[:end]).fullmatch(f"{db}.")
        for alternative in pattern.split("|")
        for end in range(1, len(alternative) + 1)
    )


def _strictest(consistencies: Iterable[Consistency]) -> Consistency | None:
    """The strictest of these defaults; None if there are none."""
    return max(consistencies, key=_DEFAULTS.index, default=None)
