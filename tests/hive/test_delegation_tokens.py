"""Delegation tokens are read as Hadoop writes them."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.delegation_tokens import (
    StoredToken,
    Token,
    TokenIdentifier,
    read_identifier,
    read_stored,
    store_keys,
)
from hive.errors import TokenFormatError


def number(value: int) -> bytes:
    """As WritableUtils.writeVLong writes it."""
    if -112 <= value <= 127:
        return value.to_bytes(1, "big", signed=True)
    rest = value if value >= 0 else ~value
    size = (rest.bit_length() + 7) // 8
    first = -112 - size if value >= 0 else -120 - size
    return first.to_bytes(1, "big", signed=True) + rest.to_bytes(size, "big")


def written(token: TokenIdentifier) -> bytes:
    texts = (text.encode() for text in token[:3])
    numbers = b"".join(map(number, token[3:]))
    return b"\0" + b"".join(number(len(text)) + text for text in texts) + numbers


TEXTS = st.text(max_size=200)
LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
TOKENS = st.builds(TokenIdentifier, TEXTS, TEXTS, TEXTS, LONGS, LONGS, LONGS, LONGS)


@given(TOKENS)
def test_an_identifier_is_read_as_it_was_written(token: TokenIdentifier) -> None:
    data = written(token)
    assert read_identifier(data) == token
    for wrong in (data[:-1], data + b"\0", b"\1" + data[1:], b""):
        with pytest.raises(TokenFormatError):
            read_identifier(wrong)


@given(st.binary(max_size=300), LONGS)
def test_what_is_stored_is_read_with_and_without_the_ends_of_base_64(
    password: bytes, ends_ms: int
) -> None:
    data = number(len(password)) + password + ends_ms.to_bytes(8, "big", signed=True)
    for text in store_keys(data):
        assert read_stored(text) == StoredToken(password, ends_ms)
    with pytest.raises(TokenFormatError):
        read_stored(store_keys(data[:-1])[0])


def is_read(read: Callable[[], object]) -> bool:
    try:
        read()
    except TokenFormatError:
        return False
    return True


@given(st.binary(max_size=300))
def test_other_bytes_are_read_or_refused(data: bytes) -> None:
    assert is_read(lambda: read_identifier(data)) in (True, False)
    assert is_read(lambda: read_stored(store_keys(data)[0])) in (True, False)
    assert not is_read(lambda: read_stored("é"))


def test_a_password_is_never_shown() -> None:
    assert repr(StoredToken(b"secret", 7)) == "StoredToken(ends_ms=7)"
    assert "secret" not in f"{Token(b'who', b'secret')!r} {Token(b'who', b'secret')}"


def test_a_text_of_other_bytes_is_refused() -> None:
    data = written(TokenIdentifier("owner", "", "", 0, 0, 0, 0))
    with pytest.raises(TokenFormatError, match="isn't UTF-8"):
        read_identifier(data.replace(b"owner", b"\xff\xfe\xfd\xfc\xfb"))
