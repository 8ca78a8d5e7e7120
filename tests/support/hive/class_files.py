"""Files of Java classes: one with a constructor more, for callers that know an older one, and ones
without anything.
"""

from struct import pack, unpack_from

_HEAD = pack("!IHH", 0xCAFEBABE, 0, 52)
_WIDTHS = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 18: 4}
_UTF8, _CLASS, _METHOD, _NAME_AND_TYPE = 1, 7, 10, 12
_LONGS = (5, 6)
_PUBLIC, _MODERN = 1, 0x20
_LOAD, _NULL, _CALL, _RETURN = 0x19, 0x01, 0xB7, 0xB1


def empty_class(name: str) -> bytes:
    """A public class without members, for signatures that name it; slashes separate packages."""
    constants = b""
    for number, text in ((1, name), (3, "java/lang/Object")):
        constants += pack("!BH", _UTF8, len(text)) + text.encode() + pack("!BH", _CLASS, number)
    this, parent = 2, 4
    body = pack("!HHHHHHH", _PUBLIC | _MODERN, this, parent, 0, 0, 0, 0)
    return _HEAD + pack("!H", 5) + constants + body


def with_constructor(data: bytes, short: str, whole: str) -> bytes:
    """Adds a constructor of descriptor `short`, whose arguments are objects, to a class.

    It calls the one of descriptor `whole`, with null for each additional argument.
    """
    arity, wanted = (signature.count(";") for signature in (short, whole))
    count, end = _constants(data)
    _, this, _, interfaces = unpack_from("!4H", data, end)
    methods = _after_members(data, end + 8 + 2 * interfaces)
    (number,) = unpack_from("!H", data, methods)
    texts = ("<init>", short, whole, "Code")
    name, of_short, of_whole, code, pair, method = range(count, count + 6)
    added = b"".join(pack("!BH", _UTF8, len(text)) + text.encode() for text in texts)
    added += pack("!BHH", _NAME_AND_TYPE, name, of_whole) + pack("!BHH", _METHOD, this, pair)
    body = b"".join(pack("!BB", _LOAD, place) for place in range(arity + 1))
    body += bytes([_NULL] * (wanted - arity)) + pack("!BHB", _CALL, method, _RETURN)
    attribute = pack("!HHI", wanted + 1, arity + 1, len(body)) + body + pack("!HH", 0, 0)
    made = pack("!4H", _PUBLIC, name, of_short, 1) + pack("!HI", code, len(attribute)) + attribute
    head = data[:8] + pack("!H", count + 6) + data[10:end] + added
    return head + data[end:methods] + pack("!H", number + 1) + made + data[methods + 2 :]


def _constants(data: bytes) -> tuple[int, int]:
    """The count in the header of the constant pool, and where the pool ends."""
    (count,) = unpack_from("!H", data, 8)
    number, place = 1, 10
    while number < count:
        kind = data[place]
        width = 2 + unpack_from("!H", data, place + 1)[0] if kind == _UTF8 else _WIDTHS[kind]
        place += 1 + width
        number += 2 if kind in _LONGS else 1
    return count, place


def _after_members(data: bytes, place: int) -> int:
    """Where the list of fields or methods that begins at this place ends."""
    (count,) = unpack_from("!H", data, place)
    place += 2
    for _ in range(count):
        (attributes,) = unpack_from("!H", data, place + 6)
        place += 8
        for _ in range(attributes):
            (length,) = unpack_from("!I", data, place + 2)
            place += 6 + length
    return place
