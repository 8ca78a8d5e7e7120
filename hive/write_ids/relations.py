"""The relation between the write-id list of a request and that of a cached object.

Ids that either list knows as aborted are left out of both: they brought no data, and Hive forgets
them at some time, after which they look committed. A list that is no snapshot stands in no
relation. The names of the tables are left to the caller.
"""

from enum import Enum

from hive.write_ids.lists import WriteIdList


class Relation(Enum):
    """The relation of the cached list to the requested one."""

    EQUAL = "equal"
    NEWER = "newer"
    BEHIND = "behind"
    INCOMPARABLE = "incomparable"


def relation(requested: WriteIdList, cached: WriteIdList) -> Relation:
    has_all, has_no_more = contains(cached, requested), contains(requested, cached)
    if has_all:
        return Relation.EQUAL if has_no_more else Relation.NEWER
    return Relation.BEHIND if has_no_more else Relation.INCOMPARABLE


def equal(requested: WriteIdList, cached: WriteIdList) -> bool:
    """Whether no transaction committed between the two."""
    more, fewer = requested, cached
    if len(more.unfinished) < len(fewer.unfinished):
        more, fewer = fewer, more
    # The list with more unfinished ids goes first: counting may show that the other lacks one.
    return contains(more, fewer) and contains(fewer, more)


def contains(whole: WriteIdList, part: WriteIdList) -> bool:
    """Whether every id that is committed in `part` is committed in `whole`."""
    if not (whole.is_snapshot and part.is_snapshot):
        return False
    if not whole.unfinished.within(part.exceptions, min(whole.hwm, part.hwm)):
        return False
    first, last = max(whole.hwm, 0) + 1, part.hwm
    if first > last:
        return True
    gap = last - first + 1
    unfinished = part.exceptions.count(first, last)
    if unfinished == gap and part.exceptions.distinct:
        return True
    if unfinished + whole.aborted.count(first, last) < gap:
        return False
    invalid = {*part.exceptions.between(first, last), *whole.aborted.between(first, last)}
    return len(invalid) == gap


def only_in(part: WriteIdList, whole: WriteIdList, limit: int) -> list[int]:
    """The first ids, up to a limit, that are committed in `part` but not in `whole`."""
    assert part.is_snapshot, "a list without an end can't be counted"
    candidates = {*whole.unfinished.between(1, min(whole.hwm, part.hwm))}
    start = max(whole.hwm, 0) + 1
    left_out = {*part.exceptions, *whole.aborted}
    stop = min(part.hwm, start + limit + len(left_out))
    candidates.update(range(start, stop + 1))
    return sorted(candidates - left_out)[:limit]
