"""Where the names of partitions are in another order than their keys.

Both orders compare value by value, character by character. They differ where names have a character
as `%XX`, which comes before most others, and where a value ends: in a key that comes before every
character, in a name a slash stands there, unless the value is the last.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from hive.names import SAFE_BYTES
from state import keys

_PERCENT, _SLASH = b"%/"
_AFTER_NUL: Final = b"\0\xff"
"""Between the end of a value and the least character that might follow in a longer one."""


class Range(NamedTuple):
    """The keys with `start <= key < end`, both without what all keys of the table begin with."""

    start: bytes
    end: bytes


_ESCAPED: Final = (
    (0x01, 0x25),
    (0x27, 0x2A),
    (0x2F, 0x2F),
    (0x3A, 0x3F),
    (0x5B, 0x5E),
    (0x7B, 0x7F),
)
"""The first and last characters of spans that have all which are escaped, but NUL. Those between
them are rare: looking into more spans would cost more than looking too far."""


def later_with_lesser_names(values: Sequence[str], fixed: int = 0) -> Iterator[Range]:
    """Ranges with all keys that come after that of a partition with these values, though they are
    of partitions with lesser names; there may be others in them.

    Only partitions that share the first `fixed` values count. No value contains a NUL.
    """
    for value, stem, is_last in _of_columns(values, fixed, len(values)):
        for at, code in enumerate(value):
            before = stem + value[:at]
            if code not in SAFE_BYTES:
                yield _between(before, code + 1, _PERCENT)
            elif code > _PERCENT:
                yield from _escaped_above(before, code)
        if not is_last:
            yield Range(stem + value + _AFTER_NUL, stem + value + bytes((_SLASH + 1,)))
            yield from _escaped_above(stem + value, _SLASH)


def earlier_with_greater_names(
    values: Sequence[str], fixed: int = 0, columns: int | None = None
) -> Iterator[Range]:
    """The same of keys that come before, though they are of partitions with greater names. The
    values may be the first of so many `columns`.
    """
    for value, stem, is_last in _of_columns(values, fixed, columns or len(values)):
        for at, code in enumerate(value):
            before = stem + value[:at]
            if code not in SAFE_BYTES:
                yield _between(before, _PERCENT + 1, code)
            elif code < _PERCENT:
                yield Range(before + _AFTER_NUL, before + bytes((code,)))
            if at and not is_last and (code < _SLASH or code not in SAFE_BYTES):
                # Where a shorter value ends, its name goes on with the slash.
                yield Range(before + keys.TEXT_END, before + _AFTER_NUL)


def _of_columns(
    values: Sequence[str], fixed: int, columns: int
) -> Iterator[tuple[bytes, bytes, bool]]:
    """Each value, what is before it in a key, and whether it is that of the last column."""
    named = keys.named_values(tuple(values))
    for column in range(fixed, len(named)):
        yield named[column].encode(), keys.texts(named[:column]), column == columns - 1


def _escaped_above(before: bytes, code: int) -> Iterator[Range]:
    """The keys that go on with a greater character which names escape."""
    for first, last in _ESCAPED:
        if last > code:
            yield _between(before, max(first, code + 1), last + 1)


def _between(before: bytes, first: int, end: int) -> Range:
    return Range(before + bytes((first,)), before + bytes((end,)))
