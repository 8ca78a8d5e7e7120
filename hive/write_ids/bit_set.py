"""Java's BitSet as bytes, by which Thrift's write-id lists mark the aborted ids."""


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
