"""The details of objects, from tables of their own, in rows of one shape.

A row is (kind, owner's id, place, text, text, text), so that one statement can read all kinds.
"""

from collections import defaultdict
from collections.abc import Iterable
from enum import IntEnum
from operator import itemgetter

DetailRow = tuple[int, int, int, str | None, str | None, str | None]

EMPTY = -1
"""The place in the row of a list without values."""
_PLACE = itemgetter(2)


class DetailKind(IntEnum):
    """The kind of a row; below each kind, in brackets, is what its texts mean."""

    DATABASE_PARAMETER = 0
    """[key, value]"""
    TABLE_PARAMETER = 1
    """[key, value]"""
    PARTITION_KEY = 2
    """[name, type, comment]"""
    PARTITION_VALUE = 3
    """[value]"""
    PARTITION_PARAMETER = 4
    """[key, value]"""
    COLUMN = 5
    """[name, type, comment]"""
    STORAGE_PARAMETER = 6
    """[key, value]"""
    SERDE_PARAMETER = 7
    """[key, value]"""
    BUCKET_COLUMN = 8
    """[name]"""
    SORT_COLUMN = 9
    """[name, order]"""
    SKEWED_COLUMN = 10
    """[name]"""
    SKEWED_VALUE = 11
    """A value of a list; [value, the list's place]"""
    SKEWED_LOCATION = 12
    """A value of a list; [value, the list's id, the list's location]"""
    RESOURCE = 13
    """[type, URI]"""


class Details:
    """The rows by kind and owner."""

    def __init__(self, rows: Iterable[DetailRow] = ()) -> None:
        self._rows: list[defaultdict[int, list[DetailRow]]] = [
            defaultdict(list) for _ in DetailKind
        ]
        self.add(rows)

    def add(self, rows: Iterable[DetailRow]) -> None:
        by_kind = self._rows
        for row in rows:
            by_kind[row[0]][row[1]].append(row)

    def any(self, kind: DetailKind) -> bool:
        """Whether there is a row of this kind."""
        return bool(self._rows[kind])

    def of(self, kind: DetailKind, owner: int | None) -> list[DetailRow]:
        """The rows of one owner, ordered by place."""
        rows = self._rows[kind].get(owner, []) if owner is not None else []
        if len(rows) > 1:
            rows.sort(key=_PLACE)
        return rows

    def key(self, kind: DetailKind, owner: int | None) -> tuple[object, ...]:
        """A key that is equal for owners with equal details."""
        rows = self._rows[kind].get(owner) if owner is not None else None
        return tuple([row[2:] for row in rows]) if rows else ()

    def names(self, kind: DetailKind, owner: int | None) -> list[str]:
        """The first text of each of one owner's rows, in order."""
        return [row[3] or "" for row in self.of(kind, owner)]

    def parameters(self, kind: DetailKind, owner: int | None) -> dict[str, str]:
        """The parameters of one owner. The metastore leaves out a key whose value is null."""
        rows = self._rows[kind].get(owner, ()) if owner is not None else ()
        return {
            key: value for _, _, _, key, value, _ in rows if key is not None and value is not None
        }
