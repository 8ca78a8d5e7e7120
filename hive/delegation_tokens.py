"""Delegation tokens in the format of Hadoop's Writable: as a metastore hands them out, and as its
DBTokenStore keeps them.
"""

import base64
import binascii
from typing import Final, NamedTuple

from hive.errors import TokenFormatError

IDENTIFIER_BYTES_MAX: Final = 1024
"""Longer ones don't fit into the store's table."""
_VERSION: Final = 0
_ONE_BYTE_MIN, _NEGATIVE_MAX = -112, -121


class TokenIdentifier(NamedTuple):
    """What a token says of itself."""

    owner: str
    renewer: str
    real_user: str
    issued_ms: int
    ends_ms: int
    """It can't be renewed beyond this time."""
    number: int
    key: int


class Token(NamedTuple):
    """A token as whoever holds it has it."""

    identifier: bytes
    password: bytes

    def __repr__(self) -> str:
        return "Token(…)"


class StoredToken(NamedTuple):
    """What the store says of a token."""

    password: bytes
    ends_ms: int
    """It ends then unless it is renewed."""

    def __repr__(self) -> str:
        return f"StoredToken(ends_ms={self.ends_ms})"


def read_token(text: str) -> Token:
    """A token in the form in which metastores hand it out. Raises TokenFormatError."""
    source = _Source(_decoded(text))
    return Token(source.take(source.number()), source.take(source.number()))


def read_identifier(data: bytes) -> TokenIdentifier:
    """Raises TokenFormatError."""
    source = _Source(data)
    if source.take(1)[0] != _VERSION:
        raise TokenFormatError("a delegation token of an unknown version")
    identifier = TokenIdentifier(
        owner=source.text(),
        renewer=source.text(),
        real_user=source.text(),
        issued_ms=source.number(),
        ends_ms=source.number(),
        number=source.number(),
        key=source.number(),
    )
    source.end()
    return identifier


def store_keys(identifier: bytes) -> tuple[str, str]:
    """The texts under one of which the store has a token: releases of Hive fill up base 64, or they
    don't.
    """
    filled = base64.urlsafe_b64encode(identifier).decode()
    return filled, filled.rstrip("=")


def read_stored(text: str) -> StoredToken:
    """Raises TokenFormatError."""
    source = _Source(_decoded(text))
    password = source.take(source.number())
    ends_ms = int.from_bytes(source.take(8), "big", signed=True)
    source.end()
    return StoredToken(password, ends_ms)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text.rstrip("=") + "==", altchars=b"-_")
    except (ValueError, binascii.Error):
        raise TokenFormatError("a delegation token that isn't base 64") from None


class _Source:
    """Reads Writables from bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise TokenFormatError("a delegation token that is cut off")
        part = self._data[self._at : end]
        self._at = end
        return part

    def text(self) -> str:
        try:
            return self.take(self.number()).decode()
        except UnicodeDecodeError:
            raise TokenFormatError("a delegation token with a text that isn't UTF-8") from None

    def number(self) -> int:
        """A number of WritableUtils.writeVLong."""
        first = int.from_bytes(self.take(1), signed=True)
        if first >= _ONE_BYTE_MIN:
            return first
        is_negative = first <= _NEGATIVE_MAX
        size = -120 - first if is_negative else _ONE_BYTE_MIN - first
        number = int.from_bytes(self.take(size))
        return ~number if is_negative else number

    def end(self) -> None:
        if self._at != len(self._data):
            raise TokenFormatError("a delegation token with more than belongs to it")
