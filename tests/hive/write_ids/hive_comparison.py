"""The order that Hive itself gives to write-id lists."""

from hive.write_ids.lists import WriteIdList


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
