"""Reads the constants of a filter."""

import re
from collections.abc import Sequence
from typing import Final

from hive.errors import FilterError
from hive.filters.cursor import Cursor
from hive.filters.expressions import Constant
from hive.filters.tokens import SPACES, TokenKind
from hive.filters.values import day, moment

MAX_STRING: Final = 512
"""The most characters of a string; the metastore's database holds values of at most 256."""
_LONG: Final = range(-(1 << 63), 1 << 63)
_MAX_DIGITS: Final = 19
_PLAIN_STRING: Final = rf"'[^'\\]{{0,{MAX_STRING - 2}}}+'"
_PLAIN_INTEGER: Final = rf"-?+\d{{1,{_MAX_DIGITS - 1}}}+"
_DATED = {"DATE": day, "TIMESTAMP": moment}


def _list_of(constant: str) -> re.Pattern[str]:
    item = f"{SPACES}{constant}{SPACES}"
    return re.compile(rf"\({item}(?:,{item})*+\)", re.ASCII)


_PLAIN_STRINGS: Final = _list_of(_PLAIN_STRING)
_PLAIN_INTEGERS: Final = _list_of(_PLAIN_INTEGER)
_STRING_OF_LIST: Final = re.compile("'([^']*+)'")
_INTEGER_OF_LIST: Final = re.compile(_PLAIN_INTEGER, re.ASCII)


def read_constants(cursor: Cursor) -> Sequence[Constant]:
    """Reads a list in brackets.

    Engines send thousands of plain constants, which take fifteen times as long by tokens.
    """
    plain = cursor.take_text(_PLAIN_STRINGS)
    if plain is not None:
        return _STRING_OF_LIST.findall(plain)
    plain = cursor.take_text(_PLAIN_INTEGERS)
    if plain is not None:
        return [int(digits) for digits in _INTEGER_OF_LIST.findall(plain)]
    cursor.want("(")
    constants = [read_constant(cursor)]
    while cursor.skip(","):
        constants.append(read_constant(cursor))
    cursor.want(")")
    return constants


def read_constant(cursor: Cursor, expected: str = "a constant") -> Constant:
    token = cursor.next
    if token.kind is TokenKind.STRING:
        return _strings(cursor)
    if token.kind in (TokenKind.DATE, TokenKind.TIMESTAMP):
        return _dated(cursor, token.kind.name, token.text)
    if token.kind is TokenKind.INTEGER or token.word == "-":
        return _integer(cursor)
    if token.word in _DATED:
        cursor.take()
        if cursor.next.kind is not TokenKind.STRING:
            raise cursor.expected(f"a string after {token.word}")
        return _dated(cursor, token.word, cursor.next.text[1:-1])
    raise cursor.expected(expected)


def _strings(cursor: Cursor) -> str:
    """Joins adjacent strings into one, as the metastore does: the quotes between them are included,
    and escapes stay as written."""
    text = ""
    while cursor.next.kind is TokenKind.STRING:
        if len(text) + len(cursor.next.text) > MAX_STRING:
            raise cursor.error(f"a string has at most {MAX_STRING} characters")
        text += cursor.take().text
    return text[1:-1] if text[0] == text[-1] else text


def _dated(cursor: Cursor, kind: str, text: str) -> str:
    if _DATED[kind](text) is None:
        raise cursor.error(f"{text[:30]!r} is no {kind} of the calendar")
    cursor.take()
    return text


def _integer(cursor: Cursor) -> int:
    place = cursor.next.place
    sign = -1 if cursor.skip("-") else 1
    if cursor.next.kind is not TokenKind.INTEGER:
        raise cursor.expected("a whole number")
    digits = cursor.take().text.lstrip("0") or "0"
    if len(digits) > _MAX_DIGITS or sign * int(digits) not in _LONG:
        raise FilterError(cursor.text, place, "a whole number has at most 64 bits")
    return sign * int(digits)
