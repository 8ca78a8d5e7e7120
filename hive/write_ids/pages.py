"""How a changing list is stored: in small pages under their own keys, so that an event touches few.

| key | value |
|---|---|
| `h` | the head |
| `o` + id // 64 | open ids: (offset, transaction, event that allocated it), ascending |
| `t` + transaction // 64 | the open id of each transaction: (offset, id), ascending |
| `a` + id // 1024 | aborted ids, as the bits of a Java BitSet |
| `j` + event | a fact that came in while a load was under way |

Numbers in keys have eight bytes, the highest first. A page is deleted with its last entry.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Protocol

import msgspec

FORMAT = 1
HEAD = b"h"
OPEN, TXN, ABORTED, JOURNAL = b"o", b"t", b"a", b"j"
IDS_A_PAGE = 64
BITS_A_PAGE = 1024

OpenEntry = tuple[int, int, int]
TxnEntry = tuple[int, int]


class WriteIdsCold(StrEnum):
    """Why the write ids of a table are unknown."""

    UNKNOWN = "no load and no first write id yet"
    ALLOC_GAP = "allocated ids don't follow the last ones"
    ALLOC_AGAIN = "write id 1 was allocated again"
    COMMIT_WITHOUT_ID = "a commit doesn't name the id that we hold for it"
    ID_ABOVE_HWM = "an event carries an id that was never allocated"
    HIDDEN_ABORT = "a transaction ended without an event"
    DROPPED = "the table or its database was dropped"
    RENAMED = "the table was renamed"
    CONVERTED = "the table became transactional"
    LOST_EVENTS = "events are missing"
    TOO_MANY_OPEN = "too many open ids"


class ListHeader(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """The part of a list that every fold of a fact needs."""

    format: int = FORMAT
    position: int = -1
    """The last event that this list reflects; facts up to it are ignored."""
    cold: str = WriteIdsCold.UNKNOWN.value
    """Why the list is unknown; empty if it is known."""
    cold_since: int = -1
    hwm: int = 0
    hi: int = -1
    """The load that the list began with may reflect events up to this one."""
    open_count: int = 0
    aborted_count: int = 0
    journal_from: int = -1
    """The event folded last when the open load began; -1 when no load is open."""
    journal_count: int = 0


class Alloc(msgspec.Struct, array_like=True, tag="a", frozen=True):
    event: int
    pairs: tuple[tuple[int, int], ...]


class Seen(msgspec.Struct, array_like=True, tag="s", frozen=True):
    event: int
    write_id: int


class Forgotten(msgspec.Struct, array_like=True, tag="f", frozen=True):
    event: int
    reason: str


class Ended(msgspec.Struct, frozen=True):
    """The outcome of a transaction."""

    event: int
    committed: bool
    write_ids: frozenset[int] | None = None
    """The ids that the event names in the list's database; None if it names nothing."""


class Loaded(msgspec.Struct, frozen=True):
    """A table's write ids as read from the metastore's database between events `lo` and `hi`."""

    lo: int
    hi: int
    hwm: int
    open: tuple[tuple[int, int], ...] = ()
    """The pairs of transaction and write id."""
    aborted: tuple[int, ...] = ()


class PageReader(Protocol):
    """Reads the pages of one list, all from one moment."""

    def get(self, key: bytes) -> bytes | None: ...

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The pages whose keys begin with `prefix`, in order, as they are at the time of the
        call."""
        ...


class Pages(PageReader, Protocol):
    """Reads and writes pages; reads see earlier writes at once."""

    def put(self, key: bytes, value: bytes) -> None: ...

    def delete(self, key: bytes) -> None: ...

    def delete_prefix(self, prefix: bytes) -> None: ...


def page_key(kind: bytes, number: int) -> bytes:
    """The key of a page, also for numbers that no metastore assigns but an event may name."""
    return kind + number.to_bytes(8, "big", signed=True)


def page_number(key: bytes) -> int:
    return int.from_bytes(key[1:], "big", signed=True)


encode = msgspec.msgpack.Encoder().encode
decode_head = msgspec.msgpack.Decoder(ListHeader).decode
decode_open = msgspec.msgpack.Decoder(list[OpenEntry]).decode
decode_txns = msgspec.msgpack.Decoder(list[TxnEntry]).decode
decode_fact = msgspec.msgpack.Decoder(Alloc | Seen | Forgotten).decode
