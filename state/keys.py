"""The keys of a shard: one byte for the kind, then names and values that keep their order.

| kind | then | holds |
|---|---|---|
| `H` | | what the shard knows of itself (`state.shard_head`) |
| `U` | event id, part | a part of a large event whose last part is still to come |
| `X` | transaction | the tables in which it has write ids |
| `E` | transaction | how it ended, while a load is open that may have read it as open |
| `D`, `d` | catalog; catalog, database | the loads of a catalog's databases; a database |
| `N`, `n` | catalog, database; …, table | the loads of a database's names; a name |
| `f` | catalog, database, function | a function |
| `T`, `t` | catalog, database, table | what is known of a table; the table |
| `W` | catalog, database, table, page | its write ids (`hive.write_ids.pages`) |
| `p` | catalog, database, table, values | a partition |
| `q` | catalog, database, table, engine, column | the statistics of one column of a table |
| `r` | catalog, database, table, values, -, engine, column | … and of a partition |
| `k` | catalog, database, table, constraint name, kind | a constraint |
| `A` | catalog, database, table, event id | an event that waits for the rows of an open load |
| `o` | catalog, database, table, values | the renames that took these values from partitions |

A text is encoded as its UTF-8 bytes, with 0xFF after each NUL, and ended by NUL and 0x01. So texts
keep their order, and the keys below a prefix of texts are exactly those that begin with its bytes.
The dash stands for two NULs, which end a list of unknown length.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, repeat

from hive.names import DEFAULT_PARTITION, DatabaseName, TableName
from state.records.objects import ConstraintKind

HEAD = b"H"
PART = b"U"
TXN = b"X"
ENDED_TXN = b"E"
CATALOG_LOADS = b"D"
DATABASE = b"d"
NAMES_LOADS = b"N"
NAME = b"n"
FUNCTION = b"f"
TABLE_STATE = b"T"
TABLE = b"t"
WRITE_IDS = b"W"
PARTITION = b"p"
TABLE_STATISTICS = b"q"
PARTITION_STATISTICS = b"r"
CONSTRAINT = b"k"
DEFERRED = b"A"
RENAMED_PARTITION = b"o"

KINDS = (
    HEAD,
    PART,
    TXN,
    ENDED_TXN,
    CATALOG_LOADS,
    DATABASE,
    NAMES_LOADS,
    NAME,
    FUNCTION,
    TABLE_STATE,
    TABLE,
    WRITE_IDS,
    PARTITION,
    TABLE_STATISTICS,
    PARTITION_STATISTICS,
    CONSTRAINT,
    DEFERRED,
    RENAMED_PARTITION,
)

BELOW_TABLE = (PARTITION, TABLE_STATISTICS, PARTITION_STATISTICS, CONSTRAINT)
"""The kinds of entries that belong to a table."""
OF_TABLE = (TABLE, *BELOW_TABLE)
OF_NAMES = (NAME, FUNCTION)

TEXT_END = b"\x00\x01"
_END_TEXT = TEXT_END.decode()
_LIST_END = b"\x00\x00"


def _text(text: str) -> bytes:
    data = text.encode()
    if b"\x00" in data:
        data = data.replace(b"\x00", b"\x00\xff")
    return data + TEXT_END


def texts(parts: tuple[str, ...]) -> bytes:
    """Encodes several texts, each with its end."""
    data = _END_TEXT.join((*parts, "")).encode()
    if data.count(b"\x00") > len(parts):
        return b"".join(map(_text, parts))
    return data


def _split(data: bytes) -> Iterator[str]:
    start = 0
    at = 0
    while at < len(data):
        nul = data.index(b"\x00", at)
        mark = data[nul + 1]
        if mark == 1:
            yield data[start:nul].replace(b"\x00\xff", b"\x00").decode()
            start = nul + 2
        at = nul + 2
        if mark == 0:
            start = at


def split_texts(data: bytes) -> tuple[str, ...]:
    """The inverse of `texts`; the end of a list is skipped."""
    return tuple(_split(data))


def flat_texts(many: Sequence[bytes]) -> list[str] | None:
    """The texts of all keys, one after the other; None if the keys have unequal numbers of texts,
    or can't be split this fast."""
    joined = b"".join(many)
    if b"\x00\xff" in joined or _LIST_END in joined:
        return None
    if len(set(map(bytes.count, many, repeat(TEXT_END)))) > 1:
        return None
    return joined[: -len(TEXT_END)].decode().split(_END_TEXT) if joined else []


def split_many(many: Sequence[bytes]) -> list[tuple[str, ...]]:
    """`split_texts` of each key, with at least one text in each; far faster than one call each."""
    flat = flat_texts(many)
    if flat is None:
        return [split_texts(key) for key in many]
    return list(zip(*[iter(flat)] * (len(flat) // max(1, len(many))), strict=True))


@lru_cache(maxsize=65_536)
def table_suffix(table: TableName) -> bytes:
    """The part of a table's keys after their kind."""
    return texts(table)


def of_table(kind: bytes, table: TableName) -> bytes:
    """The key of a table, or the prefix of all entries of this kind that belong to it."""
    return kind + table_suffix(table)


def of_database(kind: bytes, db: DatabaseName) -> bytes:
    """The key of a database, or the prefix of all keys of this kind in it."""
    return kind + texts((db.catalog, db.db))


def of_catalog(kind: bytes, catalog: str) -> bytes:
    """The key of a catalog, or the prefix of all keys of this kind in it."""
    return kind + _text(catalog)


def table_of(key: bytes) -> TableName:
    """The table at the beginning of an entry's key."""
    parts = _split(key[1:])
    return TableName(next(parts), next(parts), next(parts))


def name(db: DatabaseName, table: str) -> bytes:
    return of_database(NAME, db) + _text(table)


def function(db: DatabaseName, function_name: str) -> bytes:
    return of_database(FUNCTION, db) + _text(function_name)


def partition(table: TableName, values: tuple[str, ...]) -> bytes:
    """The key of a partition; with only the first values, the prefix of all that share them.

    A metastore knows a partition by its name, so the key has the values as they stand there.
    """
    return PARTITION + table_suffix(table) + texts(named_values(values))


def partitions(table: TableName, many: Sequence[tuple[str, ...]]) -> list[bytes]:
    """The keys of several partitions."""
    stem, flat = of_table(PARTITION, table), list(chain.from_iterable(many))
    if () in many or "" in flat or "\x00" in "".join(flat):
        return [stem + texts(named_values(values)) for values in many]
    return [stem + (_END_TEXT.join(values) + _END_TEXT).encode() for values in many]


def named_values(values: tuple[str, ...]) -> tuple[str, ...]:
    """The values of a partition as they stand in its name."""
    return tuple(value or DEFAULT_PARTITION for value in values) if "" in values else values


def partition_values(key: bytes) -> tuple[str, ...]:
    """The values in a partition's key, as they stand in its name."""
    return split_texts(key[1:])[3:]


def table_statistics(table: TableName, engine: str, column: str) -> bytes:
    return TABLE_STATISTICS + table_suffix(table) + _text(engine) + _text(column)


def statistics_of_partition(table: TableName, values: tuple[str, ...]) -> bytes:
    """The prefix of a partition's statistics."""
    return PARTITION_STATISTICS + table_suffix(table) + texts(named_values(values)) + _LIST_END


def partition_statistics(
    table: TableName, values: tuple[str, ...], engine: str, column: str
) -> bytes:
    return statistics_of_partition(table, values) + _text(engine) + _text(column)


def constraint(table: TableName, constraint_name: str, kind: ConstraintKind) -> bytes:
    return of_table(CONSTRAINT, table) + _text(constraint_name) + bytes((kind,))


def constraint_named(table: TableName, constraint_name: str) -> bytes:
    """The prefix of the constraints with this name, of any kind."""
    return of_table(CONSTRAINT, table) + _text(constraint_name)


def deferred(table: TableName, event: int) -> bytes:
    return of_table(DEFERRED, table) + event.to_bytes(8)


def renamed_partition(table: TableName, values: tuple[str, ...]) -> bytes:
    return of_table(RENAMED_PARTITION, table) + texts(named_values(values))


def event_of_deferred(key: bytes) -> int:
    return int.from_bytes(key[-8:])


def txn(number: int) -> bytes:
    return TXN + number.to_bytes(8, signed=True)


def ended_txn(number: int) -> bytes:
    return ENDED_TXN + number.to_bytes(8, signed=True)


def txn_of(key: bytes) -> int:
    return int.from_bytes(key[1:], signed=True)


def event_parts(upto: int) -> bytes:
    """The prefix of an event's parts."""
    return PART + upto.to_bytes(8)


def event_part(upto: int, part: int) -> bytes:
    return event_parts(upto) + part.to_bytes(4)
