"""The names of many partitions from their keys, without a look at each where that is possible."""

from collections.abc import Sequence
from itertools import repeat
from typing import Final

from hive.names import SAFE_BYTES, escape_path_part, partition_names, partition_names_of
from state import keys

_LINE: Final = b"\n"
_IN_PLAIN_LINES: Final = SAFE_BYTES + keys.TEXT_END + _LINE
_COLUMNS_MAX: Final = 2
"""With more columns, replacements alone can't tell which text is of which."""


def names_of(columns: Sequence[str], many: Sequence[bytes]) -> list[str]:
    """The names of partitions with these columns, from their encoded values."""
    if many and 0 < len(columns) <= _COLUMNS_MAX:
        names = _names_of_plain(columns, many)
        if names is not None:
            return names
    flat = keys.flat_texts(many)
    if flat is None or len(flat) != len(many) * len(columns):
        return partition_names(columns, keys.split_many(many))
    return partition_names_of(columns, flat)


def _names_of_plain(columns: Sequence[str], many: Sequence[bytes]) -> list[str] | None:
    """The names, if each partition has one value for each column, and nothing is escaped."""
    end, count = keys.TEXT_END, len(many) * len(columns)
    lines = _LINE.join(many)
    if (
        set(map(bytes.count, many, repeat(end))) != {len(columns)}
        # Else there are bytes of the ends alone, or empty texts.
        or lines.count(end[:1]) != count
        or lines.count(end[1:]) != count
        or lines.count(_LINE) >= len(many)
        or end[1:] + end[:1] in lines
        or _LINE + end[:1] in lines
        or lines.startswith(end)
        or lines.translate(None, _IN_PLAIN_LINES)
    ):
        return None
    first, *others = (f"{escape_path_part(column.lower())}=".encode() for column in columns)
    named = first + lines[: -len(end)].replace(end + _LINE, _LINE + first)
    for stem in others:
        named = named.replace(end, b"/" + stem)
    return named.decode().split(_LINE.decode())
