"""Thrift's `TableValidWriteIds`: one list of exceptions, and a BitSet that marks the aborted
ones."""

from typing import NamedTuple

from hive.errors import WriteIdListError
from hive.write_ids.ids import Ids
from hive.write_ids.lists import LONG_MAX, WriteIdList
from hive.write_ids.text import IDS_MAX


class TableValidWriteIds(NamedTuple):
    """The fields of the Thrift struct, in the order of their ids."""

    full_table_name: str
    hwm: int
    invalid_write_ids: list[int]
    min_open_write_id: int | None
    aborted_bits: bytes


def to_thrift(ids: WriteIdList) -> TableValidWriteIds:
    """The struct that a metastore would answer with."""
    aborted = iter(ids.aborted)
    following = next(aborted, None)
    places = []
    for place, id_ in enumerate(ids.exceptions):
        if id_ == following:
            places.append(place)
            following = next(aborted, None)
    min_open = None if ids.min_open == LONG_MAX else ids.min_open
    bits = print_bit_set(places)
    return TableValidWriteIds(ids.table or "null", ids.hwm, list(ids.exceptions), min_open, bits)


def from_thrift(struct: TableValidWriteIds) -> WriteIdList:
    """The list that Hive's client makes of the struct."""
    name, invalid = struct.full_table_name, sorted(struct.invalid_write_ids)
    if len(invalid) > IDS_MAX:
        raise WriteIdListError(name, 0, f"send at most {IDS_MAX} ids")
    places = parse_bit_set(struct.aborted_bits)
    if places and places[-1] >= len(invalid):
        raise WriteIdListError(
            name, 0, f"aborted bit {places[-1]} is set, but there are {len(invalid)} invalid ids"
        )
    aborted = [invalid[place] for place in places]
    marked = set(places)
    open_ids = [id_ for place, id_ in enumerate(invalid) if place not in marked]
    min_open = LONG_MAX if struct.min_open_write_id is None else struct.min_open_write_id
    table = None if name.lower() == "null" else name
    return WriteIdList(struct.hwm, Ids(open_ids), Ids(aborted), min_open, table)


def print_bit_set(places: list[int]) -> bytes:
    """Encodes a BitSet as Java's `toByteArray`: lowest bit first, no zero bytes at the end."""
    if not places:
        return b""
    bits = bytearray(places[-1] // 8 + 1)
    for place in places:
        bits[place >> 3] |= 1 << (place & 7)
    return bytes(bits)


def parse_bit_set(bits: bytes) -> list[int]:
    """The positions of the bits that are set, ascending."""
    return [
        index * 8 + bit
        for index, byte in enumerate(bits)
        if byte
        for bit in range(8)
        if byte >> bit & 1
    ]
