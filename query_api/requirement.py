"""The requirement on an answer: what the caller wants and what the deployment demands."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import msgspec

from hive.errors import InputError, TooLargeError
from hive.names import TableName
from hive.patterns import compile_pattern
from hive.write_ids.lists import WriteIdList
from hive.write_ids.text import TxnWriteIdLists, parse
from query_api.positions import Position, parse_position
from query_api.reads.read import Read
from query_api.targets import Target, TargetKind
from state.records.table_lists import check_patterns

WAIT_MS_MAX: Final = 60_000
AGE_MS: Final = 100
AGE_MS_MAX: Final = 60_000
WRITE_IDS_CHARS_MAX: Final = 1 << 20
_TABLE_ID_MAX: Final = (1 << 63) - 1


class Consistency(StrEnum):
    """How fresh an answer must be."""

    ANY = "any"
    """Any state of the cache."""
    AT_LEAST = "at_least"
    """At least as new as a position."""
    WRITE_IDS = "write_ids"
    """Contains exactly the commits of a write-id list."""
    WITHIN = "within"
    """Contains everything that was committed up to some time before the request arrived."""
    LATEST = "latest"
    """Contains everything that was committed before the request arrived."""


_CURRENT: Final = (Consistency.WITHIN, Consistency.LATEST)
"""The consistencies that depend on what is current in the database."""
_DEFAULTS: Final = (Consistency.ANY, *_CURRENT)
"""The consistencies that need nothing but a word, the strictest last."""
Tables = tuple[tuple[str, Consistency], ...]
"""Consistencies by patterns of tables."""


ANY_AGE_MS: Final = 1000
"""The age for answers that another worker gave and that may be of any state."""


class Requirement(msgspec.Struct, frozen=True):
    """The conditions that one answer must fulfil, all of them."""

    consistency: Consistency = Consistency.LATEST
    must_be_current: bool = True
    """Whether the answer must be complete up to what a read of the database shows to be current.
    The deployment's floor can demand it of any consistency."""
    write_ids: WriteIdList | None = None
    """None if no list is checked, or if consistency `write_ids` was requested without a list."""
    table_id: int = 0
    accept_newer: bool = False
    min_position: Position | None = None
    max_wait_ms: int | None = None
    max_age_ms: int = 0
    """With `must_be_current`: how long before the request that read may have begun; 0 if it must
    begin after it."""

    @property
    def takes_any(self) -> bool:
        """Whether any state of the cache will do."""
        return (
            self.consistency is Consistency.ANY
            and not self.must_be_current
            and self.min_position is None
        )

    @property
    def age_ms_max(self) -> int | None:
        """How old the log may be that confirms an answer; 0 if it must be read for the request,
        None if no log need confirm it.
        """
        return self.max_age_ms if self.must_be_current else None

    @property
    def log_age_ms(self) -> int | None:
        """How old the log may be that confirms what another worker answered; None if that may not
        be cached.
        """
        return ANY_AGE_MS if self.takes_any else self.age_ms_max


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
        for consistency in (self.consistency, *(by_table for _, by_table in self.tables)):
            if consistency not in _DEFAULTS:
                raise InputError(f"{consistency} can't be a default: write latest, within or any")
        if self.floor not in (Consistency.ANY, Consistency.LATEST):
            raise InputError(f"the floor is any or latest, not {self.floor}")
        consistencies = (
            self.consistency,
            self.floor,
            *(by_table for _, by_table in self.tables),
        )
        current = next((name for name in _CURRENT if name in consistencies), None)
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


PARAMETERS: Final = (
    "consistency",
    "write_ids",
    "table_id",
    "accept_newer",
    "min_position",
    "max_wait_ms",
    "max_age_ms",
)


def parse_requirement(
    conditions: Mapping[str, str], read: Read[Any], defaults: Defaults
) -> Requirement:
    """Parses the requirement of a request."""
    conditions, table = _in_full(conditions), read.of_table
    ids, table_id = _ids(conditions, table)
    position = conditions.get("min_position")
    consistency = _consistency(conditions, has_list=ids is not None) or defaults.of(read)
    min_position = None if position is None else parse_position(position)
    if consistency is Consistency.AT_LEAST and min_position is None:
        raise InputError("consistency at_least needs a min_position, as 0:1234")
    checks_ids = consistency is Consistency.WRITE_IDS
    if checks_ids and table is None:
        raise InputError("consistency write_ids is for reads of one table: ask for latest")
    max_age_ms = _number(conditions, "max_age_ms", 1, AGE_MS_MAX)
    if max_age_ms is not None and consistency is not Consistency.WITHIN:
        raise InputError(f"max_age_ms is for consistency within, not {consistency}")
    must_be_current, max_age_ms = defaults.bound(consistency, max_age_ms)
    if must_be_current and defaults.never_current is not None:
        raise InputError(f"{consistency} isn't available: {defaults.never_current}")
    return Requirement(
        consistency,
        must_be_current,
        ids if checks_ids else None,
        table_id if checks_ids else 0,
        _flag(conditions, "accept_newer"),
        min_position,
        _number(conditions, "max_wait_ms", 0, WAIT_MS_MAX),
        max_age_ms,
    )


def _in_full(conditions: Mapping[str, str]) -> Mapping[str, str]:
    """The conditions with `within; max_age_ms=100` taken apart."""
    consistency, is_short, age = conditions.get("consistency", "").partition(";")
    if not is_short:
        return conditions
    name, _, number = age.partition("=")
    if name.strip() != "max_age_ms":
        raise InputError(f"bad {age[:40]!r} after {consistency[:40]!r}: write max_age_ms=100")
    return {"max_age_ms": number.strip(), **conditions, "consistency": consistency.strip()}


def _consistency(conditions: Mapping[str, str], *, has_list: bool) -> Consistency | None:
    text = conditions.get("consistency")
    if text is None:
        if has_list:
            return Consistency.WRITE_IDS
        return Consistency.WITHIN if "max_age_ms" in conditions else None
    try:
        return Consistency(text)
    except ValueError:
        names = ", ".join(Consistency)
        raise InputError(f"bad consistency {text[:40]!r}: write one of {names}") from None


def _ids(conditions: Mapping[str, str], table: TableName | None) -> tuple[WriteIdList | None, int]:
    """The write-id list and the table id, if both are meaningful: outside of queries, Hive sends
    placeholders. Without a table, any list that is meaningful for some table.
    """
    table_id = _number(conditions, "table_id", -_TABLE_ID_MAX - 1, _TABLE_ID_MAX) or 0
    text = conditions.get("write_ids")
    if text is None or (table is None and table_id <= 0):
        return None, 0
    ids = _list_of(text, table)
    if ids is None or not ids.is_snapshot or table_id <= 0:
        return None, 0
    return ids, table_id


def _list_of(text: str, table: TableName | None) -> WriteIdList | None:
    if not text:
        return None
    if len(text) > WRITE_IDS_CHARS_MAX:
        raise TooLargeError(f"write_ids has more than {WRITE_IDS_CHARS_MAX} characters")
    write_ids = parse(text)
    if isinstance(write_ids, TxnWriteIdLists):
        if table is None:
            return next((ids for ids in write_ids.lists.values() if ids.is_snapshot), None)
        names = (table.in_catalog, str(table))
        lists = {name.lower(): ids for name, ids in write_ids.lists.items()}
        return next((lists[name] for name in names if name in lists), None)
    if write_ids.table is None and not text.startswith("["):
        if not write_ids.is_snapshot or text[:5].lower() == "null:":
            return None
        raise InputError("write_ids is a list of transactions: pass the list of the table")
    own_names = () if table is None else (table.in_catalog, str(table))
    if own_names and write_ids.table is not None and write_ids.table.lower() not in own_names:
        raise InputError(f"write_ids is of {write_ids.table[:80]!r}, but {table} is read")
    return write_ids


def _flag(conditions: Mapping[str, str], name: str) -> bool:
    text = conditions.get(name, "false").lower()
    if text not in ("true", "false", "1", "0"):
        raise InputError(f"bad {name} {text[:40]!r}: write true or false")
    return text in ("true", "1")


def _number(conditions: Mapping[str, str], name: str, least: int, most: int) -> int | None:
    text = conditions.get(name)
    if text is None:
        return None
    try:
        number = int(text) if len(text) <= 20 and text.isascii() else None
    except ValueError:
        number = None
    if number is None or not least <= number <= most:
        raise InputError(f"bad {name} {text[:40]!r}: write a number from {least} to {most}")
    return number
