"""How the list of a request and the list of a cached object stand to each other.

Ids that either list knows as aborted are left out of both: they brought no data, and Hive forgets
them at some time, after which they look committed. A list that is no snapshot stands in no
relation. Names of tables are for the caller to compare; only Hive's own order looks at them.
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
    # Counting shows whether one is missing.
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


def hive_compare(a: WriteIdList, b: WriteIdList) -> int:
    """Hive's `TxnIdUtils.compare`, for reference: positive if it takes `a` for the fresher one.

    Zero means the same committed ids, but the order is lexicographic: the fresher of two lists may
    lack a commit that the other one contains. Nothing of ours decides by it. A list without a
    table, on which Hive fails, is compared by its ids alone.
    """
    if a.table is not None and b.table is not None and a.table.lower() != b.table.lower():
        return _java_compare(a.table.lower(), b.table.lower())
    for ours, theirs in zip(a.exceptions, b.exceptions, strict=False):
        if ours != theirs:
            return 1 if ours > theirs else -1
    if len(a.exceptions) == len(b.exceptions):
        return _sign(a.hwm - b.hwm)
    if len(a.exceptions) < len(b.exceptions):
        return _compare_shorter(a, b)
    return -_compare_shorter(b, a)


def _compare_shorter(a: WriteIdList, b: WriteIdList) -> int:
    """Compares lists when the exceptions of `a` are the first ones of `b`."""
    rest = b.exceptions[len(a.exceptions) :]
    if a.hwm != rest[0] - 1:
        return _sign(a.hwm - (rest[0] - 1))
    return 0 if len(rest) == b.hwm - rest[0] + 1 and rest[-1] == b.hwm else -1


def _java_compare(a: str, b: str) -> int:
    """Compares texts as Java's `String.compareTo` does."""
    for ours, theirs in zip(a, b, strict=False):
        if ours != theirs:
            return ord(ours) - ord(theirs)
    return len(a) - len(b)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
