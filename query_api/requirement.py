"""The requirement on an answer: what the caller wants and what the deployment demands."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from hive.errors import InputError, TooLargeError
from hive.names import TableName
from hive.write_ids.lists import WriteIdList
from hive.write_ids.text import TxnWriteIdLists, parse
from query_api.consistency import Consistency
from query_api.positions import Position, parse_position
from query_api.reads.read import Read
from query_api.requirement_defaults import Defaults

WAIT_MS_MAX: Final = 60_000
AGE_MS_MAX: Final = 60_000
ANY_AGE_MS: Final = 1000
"""The age for answers that another worker gave and that may be of any state."""
WRITE_IDS_CHARS_MAX: Final = 1 << 20
_TABLE_ID_MAX: Final = (1 << 63) - 1
PARAMETERS: Final = (
    "consistency",
    "write_ids",
    "table_id",
    "accept_newer",
    "min_position",
    "max_wait_ms",
    "max_age_ms",
)


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
