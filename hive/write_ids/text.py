"""The text forms of snapshots, read and written as Hive's own classes do.

| form | example |
|---|---|
| `ValidReaderWriteIdList` | `sales.orders:12:7:7,12:8` (table, hwm, least open, open, aborted) |
| `ValidTxnList` | `12:7:7,12:8` (the same without a table, about transactions) |
| `ValidTxnWriteIdList` | `12$sales.orders:12:7:7,12:8$…` (a transaction, a list for each table) |
| short | `[12:7,8,12]` (hwm, exceptions; for people) |

Java's `split` drops empty fields and members at the end, so these may be left out. What follows the
aborted ids is ignored. A number may have a sign, and digits of any script unless Java needs two
`char`s for each.
"""

import re
from itertools import pairwise
from typing import NamedTuple

from hive.errors import WriteIdListError
from hive.write_ids.ids import Ids
from hive.write_ids.lists import LONG_MAX, WriteIdList, write_id_list

LENGTH_MAX = 32_000_000
IDS_MAX = 1_000_000
DIGITS_MAX = 4_000
_NUMBER = re.compile(r"[+-]?(?:(?![\U00010000-\U0010ffff])\d)+")
_NUMBERS = re.compile(r"[+-]?[0-9]+(?:,[+-]?[0-9]+)*+")
_EVERYTHING = WriteIdList(LONG_MAX)


class TxnWriteIdLists(NamedTuple):
    """The write-id lists that one transaction reads by, for each table."""

    txn: int
    lists: dict[str, WriteIdList]


def parse(text: str) -> WriteIdList | TxnWriteIdLists:
    """Parses any of the forms, which differ in their first field."""
    if text.startswith("["):
        return parse_short(text)
    if "$" in text:
        return parse_txn_write_id_lists(text)
    if _NUMBER.fullmatch(text.partition(":")[0]):
        return parse_txn_list(text)
    return parse_write_id_list(text)


def parse_write_id_list(text: str) -> WriteIdList:
    """Parses a `ValidReaderWriteIdList`; an empty text is a list in which everything is valid."""
    return _parse_write_id_list(text, 0, len(text))


def print_write_id_list(ids: WriteIdList) -> str:
    """The text of a list; `null` stands for a missing table, as in Java."""
    return f"{'null' if ids.table is None else ids.table}:{print_txn_list(ids)}"


def parse_txn_list(text: str) -> WriteIdList:
    """Parses a `ValidReadTxnList`, whose ids are those of transactions."""
    _check_length(text)
    return _parse_fields(text, 0, len(text), None) if text else _EVERYTHING


def print_txn_list(ids: WriteIdList) -> str:
    return f"{ids.hwm}:{ids.min_open}:{_csv(ids.open)}:{_csv(ids.aborted)}"


def parse_txn_write_id_lists(text: str) -> TxnWriteIdLists:
    """Parses a `ValidTxnWriteIdList`; of two lists for a table the last one counts."""
    _check_length(text)
    end = len(text.rstrip("$"))
    place = text.find("$", 0, end)
    stop = end if place < 0 else place
    txn = _number(text, 0, stop, "the id of a transaction")
    lists = {}
    while stop < end:
        start = stop + 1
        place = text.find("$", start, end)
        stop = end if place < 0 else place
        ids = _parse_write_id_list(text, start, stop)
        lists["null" if ids.table is None else ids.table] = ids
    return TxnWriteIdLists(txn, lists)


def parse_short(text: str) -> WriteIdList:
    """Parses `[hwm:exceptions]`; the exceptions count as open."""
    _check_length(text)
    if not text.startswith("["):
        raise WriteIdListError(text, 0, "begin with a bracket, as in [12:7,8]")
    if not text.endswith("]"):
        raise WriteIdListError(text, len(text), "end with a bracket, as in [12:7,8]")
    colon = text.find(":")
    if colon < 0:
        raise WriteIdListError(text, len(text) - 1, "write a colon after the high-water mark")
    hwm = _number(text, 1, colon, "the high-water mark")
    return write_id_list(hwm, _numbers(text, colon + 1, len(text) - 1, "an exception"))


def _parse_write_id_list(text: str, start: int, end: int) -> WriteIdList:
    _check_length(text)
    if start == end:
        return _EVERYTHING
    colon = text.find(":", start, end)
    if colon < 0:
        raise WriteIdListError(text, end, "write db.table:hwm:least open:open ids:aborted ids")
    table = text[start:colon]
    return _parse_fields(text, colon + 1, end, None if table.lower() == "null" else table)


def _parse_fields(text: str, start: int, end: int, table: str | None) -> WriteIdList:
    """Parses the fields after the table: `hwm:least open:open ids:aborted ids`."""
    while end > start and text[end - 1] == ":":
        end -= 1
    bounds = [start - 1]
    while len(bounds) <= 4 and (colon := text.find(":", bounds[-1] + 1, end)) >= 0:
        bounds.append(colon)
    if len(bounds) < 2:
        raise WriteIdListError(text, end, "write the high-water mark and the least open id")
    if len(bounds) <= 4:
        bounds.append(end)
    fields = [(left + 1, right) for left, right in pairwise(bounds)]
    hwm = _number(text, *fields[0], "the high-water mark")
    min_open = _number(text, *fields[1], "the least open id")
    open_ids = _numbers(text, *fields[2], "an open id") if len(fields) > 2 else []
    aborted_ids = _numbers(text, *fields[3], "an aborted id") if len(fields) > 3 else []
    return _as_hive_reads(hwm, min_open, open_ids, aborted_ids, table)


def _as_hive_reads(
    hwm: int, min_open: int, open_ids: list[int], aborted_ids: list[int], table: str | None
) -> WriteIdList:
    """Corrects repeated ids: Hive marks one occurrence as aborted, so further ones count as
    open."""
    aborted = set(aborted_ids)
    if len(aborted) < len(aborted_ids):
        repeated = sorted(aborted_ids)
        pairs = pairwise(repeated)
        open_ids = [*open_ids, *(id_ for id_, following in pairs if id_ == following)]
    return WriteIdList(hwm, Ids(open_ids), Ids(aborted), min_open, table)


def _check_length(text: str) -> None:
    if len(text) > LENGTH_MAX:
        raise WriteIdListError(text, LENGTH_MAX, f"write at most {LENGTH_MAX} characters")


def _number(text: str, start: int, end: int, what: str) -> int:
    number = text[start:end]
    if not _NUMBER.fullmatch(number):
        raise WriteIdListError(text, start, f"{what} must be a whole number, not {number[:30]!r}")
    if len(number) > DIGITS_MAX or not -LONG_MAX - 1 <= int(number) <= LONG_MAX:
        raise WriteIdListError(text, start, f"{what} must fit into 64 bits")
    return int(number)


def _numbers(text: str, start: int, end: int, what: str) -> list[int]:
    while end > start and text[end - 1] == ",":
        end -= 1
    if start == end:
        return []
    if text.count(",", start, end) >= IDS_MAX:
        raise WriteIdListError(text, start, f"write at most {IDS_MAX} ids")
    members = text[start:end].split(",")
    if _NUMBERS.fullmatch(text, start, end) and max(map(len, members)) < len(str(LONG_MAX)):
        return list(map(int, members))
    numbers = []
    for member in members:
        numbers.append(_number(text, start, start + len(member), what))
        start += len(member) + 1
    return numbers


def _csv(ids: Ids) -> str:
    return ",".join(map(str, ids))
