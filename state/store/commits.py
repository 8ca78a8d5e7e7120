"""The keys that commits touched, for caches of what was read from a store."""

from collections.abc import Iterable
from typing import Final

import msgspec

from state import keys, kv, shard_head
from state.shard_head import ShardHead
from state.store.overlay import Overlay

KEYS_MAX: Final = 256
"""A larger commit counts as touching everything, so that catching up isn't slowed."""
GROUPS_MAX: Final = 20_000
PARTITIONS_MAX: Final = 4096
_PARTITION: Final = ord(keys.PARTITION)
_END: Final = b"\x00\x01"
_TEXTS: Final = {
    **dict.fromkeys(map(ord, keys.KINDS), 3),
    **dict.fromkeys(map(ord, (keys.NAMES_LOADS, keys.NAME, keys.FUNCTION)), 2),
    **dict.fromkeys(map(ord, (keys.CATALOG_LOADS, keys.DATABASE)), 1),
    **dict.fromkeys(map(ord, (keys.HEAD, keys.PART, keys.TXN, keys.ENDED_TXN)), 0),
}
"""How many texts after the kind make up the group of a key. With 0, the key has no group: it is the
head, or only the fold reads it."""


class Commits:
    """Counts the commits of an open store and remembers the last one that touched a group of keys.

    A group is a table, a database's names, or a catalog's databases: the texts that its keys begin
    with. 1. What a commit touches is noted before the commit is visible. 2. A group that isn't
    known to be untouched counts as touched. 3. Memory is bounded, and a commit takes little time.

    It also remembers the partitions that the last commits put, so that what is known of all
    partitions of a table can be brought up to date.

    Only the writer notes; readers may be in another thread.
    """

    def __init__(self) -> None:
        self.count = 0
        self._head: ShardHead | None = None
        self._last: dict[bytes, int] = {}
        self._everything = 0
        self._put: dict[bytes, list[tuple[int, bytes]]] = {}
        self._put_count = 0
        self._forgotten = 0

    def begin(self, transaction: Overlay) -> None:
        """Notes what the next commit touches, before that commit becomes visible."""
        number = self.count + 1
        head = transaction.changes.get(keys.HEAD)
        groups = _groups(transaction)
        if head is not None and not self._moves_on_only(head):
            groups = None
        if groups is None or len(self._last) > GROUPS_MAX:
            self._everything = number
            self._last.clear()
            self._forget(number)
        else:
            self._last.update(dict.fromkeys(groups, number))
            self._note_partitions(transaction, number)

    def untouched(self, groups: Iterable[bytes], since: int) -> bool:
        """Whether no commit after this one touched any of these groups."""
        # Groups first: `begin` raises `_everything` before it forgets them.
        last = self._last
        for group in groups:
            if last.get(group, 0) > since:
                return False
        return self._everything <= since

    def partitions_put(self, table: bytes, since: int) -> list[bytes] | None:
        """The keys of a table's partitions that commits after this one put; None if they aren't all
        remembered. Deleted ones may be among them.
        """
        if self.untouched((table,), since):
            return []
        # Keys first: `_forget` raises `_forgotten` before it forgets them.
        put = [key for number, key in list(self._put.get(table, ())) if number > since]
        return put if self._forgotten <= since else None

    def _note_partitions(self, transaction: Overlay, number: int) -> None:
        put = [
            key
            for key, value in transaction.changes.items()
            if key[0] == _PARTITION and value is not None
        ]
        self._put_count += len(put)
        if self._put_count > PARTITIONS_MAX:
            self._forget(number)
            return
        for key in put:
            group = _group(key)
            assert group is not None
            self._put.setdefault(group, []).append((number, key))

    def _forget(self, number: int) -> None:
        self._forgotten = number
        self._put.clear()
        self._put_count = 0

    def _moves_on_only(self, value: bytes) -> bool:
        """Whether readers see nothing new in the head but its last event."""
        before, self._head = self._head, _without_progress(shard_head.decode(value))
        return before == self._head


def _without_progress(head: ShardHead) -> ShardHead:
    """What readers know of a head, but for its last event. Loads begin and end, and transactions
    end during them, many times a second; only the fold asks how many there are."""
    return msgspec.structs.replace(head, applied=0, mark=0, loads_open=0, ended_count=0)


def _groups(transaction: Overlay) -> set[bytes] | None:
    """The groups of these keys; None if they are too many, or unclear."""
    if len(transaction.changes) > KEYS_MAX:
        return None
    groups = set()
    for key in transaction.changes:
        group = _group(key)
        if group is None:
            return None
        groups.add(group)
    for start, end in transaction.ranges:
        group = _group(start)
        if group is None or end > kv.after(start[:1] + group):
            return None
        groups.add(group)
    return groups


def _group(key: bytes) -> bytes | None:
    """The group of a key; empty if it has none, None if it is unclear."""
    count, end = _TEXTS.get(key[0]), 1
    if count is None:
        return None
    for _ in range(count):
        end = key.find(_END, end) + len(_END)
        if end < 1 + len(_END):
            return None
    return key[1:end]
