"""Splits a filter into tokens."""

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from hive.errors import FilterError


class TokenKind(Enum):
    WORD = auto()
    """A keyword, in upper case."""
    SIGN = auto()
    """A bracket, a comma, a minus or an operator."""
    NAME = auto()
    """The name of a key, in lower case."""
    QUOTED_NAME = auto()
    STRING = auto()
    """A string with its quotes."""
    INTEGER = auto()
    DATE = auto()
    TIMESTAMP = auto()
    END = auto()


class Token(NamedTuple):
    kind: TokenKind
    text: str
    place: int
    word: str = ""
    """The keyword or sign; empty for names and constants, whatever they spell."""

    @property
    def is_key(self) -> bool:
        return self.kind in (TokenKind.NAME, TokenKind.QUOTED_NAME)


_KEYWORDS = frozenset(
    {"AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "IS", "TRUE", "FALSE"}
    | {"STRUCT", "CONST", "DATE", "TIMESTAMP"}
)

# Spaces, strings and names match in one way only, so possessive quantifiers don't look for others.
SPACES = r"[ \r\n\t]*+"
_SPACES = re.compile(SPACES)
_TOKEN = re.compile(
    SPACES
    + r"""
    (?: (?P<TIMESTAMP> \d{4}-\d\d-\d\d\ \d\d:\d\d:\d\d )
      | (?P<DATE> \d{4}-\d\d-\d\d )
      | (?P<WORD> \w++ )
      | (?P<STRING> ' (?: [^'\\] | \\. )*+ ' | " (?: [^"\\] | \\. )*+ " )
      | (?P<QUOTED_NAME> ` (?: [^`] | `` )*+ ` )
      | (?P<SIGN> <=> | <= | <> | >= | == | != | [(),=<>-] )
    )
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_CONSTANTS = {kind.name: kind for kind in (TokenKind.STRING, TokenKind.DATE, TokenKind.TIMESTAMP)}


def tokens(text: str, place: int = 0) -> Iterator[Token]:
    """The tokens from a place on, in order, with an END at the end."""
    while (match := _TOKEN.match(text, place)) is not None:
        group = match.lastgroup
        assert group
        token, begin, place = match[group], match.start(group), match.end()
        if group == "WORD":
            yield _word(token, begin)
        elif group == "SIGN":
            yield Token(TokenKind.SIGN, token, begin, token)
        elif group == "QUOTED_NAME":
            yield Token(TokenKind.QUOTED_NAME, token[1:-1].replace("``", "`").lower(), begin)
        else:
            yield Token(_CONSTANTS[group], token, begin)
    spaces = _SPACES.match(text, place)
    assert spaces
    if spaces.end() < len(text):
        raise FilterError(text, spaces.end(), _unknown(text[spaces.end()]))
    yield Token(TokenKind.END, "", len(text))


def _word(word: str, place: int) -> Token:
    if word.isdigit():
        return Token(TokenKind.INTEGER, word, place)
    keyword = word.upper()
    if keyword in _KEYWORDS:
        return Token(TokenKind.WORD, keyword, place, keyword)
    return Token(TokenKind.NAME, word.lower(), place)


def _unknown(character: str) -> str:
    if character in "'\"`":
        return f"the {character} that opens here is never closed"
    if character == ";":
        return "a filter is one expression: leave the semicolon out"
    return f"no filter has {character!r} outside of quotes"
