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

    @property
    def word(self) -> str:
        """The keyword or sign; empty for names and constants, whatever they spell."""
        return self.text if self.kind in (TokenKind.WORD, TokenKind.SIGN) else ""

    @property
    def is_key(self) -> bool:
        return self.kind in (TokenKind.NAME, TokenKind.QUOTED_NAME)


_KEYWORDS = frozenset(
    {"AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "IS", "TRUE", "FALSE"}
    | {"STRUCT", "CONST", "DATE", "TIMESTAMP"}
)

# A string or a name matches in one way only, so possessive quantifiers don't look for others.
_TOKEN = re.compile(
    r"""
    (?P<TIMESTAMP> \d{4}-\d\d-\d\d\ \d\d:\d\d:\d\d )
  | (?P<DATE> \d{4}-\d\d-\d\d )
  | (?P<WORD> \w++ )
  | (?P<STRING> ' (?: [^'\\] | \\. )*+ ' | " (?: [^"\\] | \\. )*+ " )
  | (?P<QUOTED_NAME> ` (?: [^`] | `` )*+ ` )
  | (?P<SIGN> <=> | <= | <> | >= | == | != | [(),=<>-] )
  | (?P<SPACE> [ \r\n\t]++ )
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)


def tokens(text: str, place: int = 0) -> Iterator[Token]:
    """The tokens from a place on, in order, with an END at the end."""
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise FilterError(text, place, _unknown(text[place]))
        assert match.lastgroup
        if match.lastgroup == "WORD":
            yield _word(match[0], place)
        elif match.lastgroup == "QUOTED_NAME":
            yield Token(TokenKind.QUOTED_NAME, match[0][1:-1].replace("``", "`").lower(), place)
        elif match.lastgroup != "SPACE":
            yield Token(TokenKind[match.lastgroup], match[0], place)
        place = match.end()
    yield Token(TokenKind.END, "", place)


def _word(word: str, place: int) -> Token:
    if word.isdigit():
        return Token(TokenKind.INTEGER, word, place)
    keyword = word.upper()
    if keyword in _KEYWORDS:
        return Token(TokenKind.WORD, keyword, place)
    return Token(TokenKind.NAME, word.lower(), place)


def _unknown(character: str) -> str:
    if character in "'\"`":
        return f"the {character} that opens here is never closed"
    if character == ";":
        return "a filter is one expression: leave the semicolon out"
    return f"no filter has {character!r} outside of quotes"
