"""Passwords that a directory checks: a simple bind of LDAP (RFC 4511) over TLS.

Only this one request is needed of LDAP, so it is written here rather than by a library.
"""

import asyncio
import ssl
import unicodedata
from enum import IntEnum
from typing import Final, NamedTuple

import structlog

from hive.errors import RefusedLoginError
from query_api.thrift.sasl.plain import WRONG

Address = tuple[str, int]
BIND_TIMEOUT_S: Final = 5.0
"""How long one directory may take before the next one is asked."""
BINDS_MAX: Final = 64
"""The number of passwords that are checked at a time; others wait for their turn."""
ANSWER_BYTES_MAX: Final = 64 * 1024
_ESCAPED: Final = ',+"\\<>;=# '
_VERSION: Final = b"\x03"
_INTEGER, _TEXT, _SEQUENCE, _ENUMERATED = 0x02, 0x04, 0x30, 0x0A
_BIND, _BOUND, _PASSWORD = 0x60, 0x61, 0x80

_FAULTS: Final = (OSError, ValueError, asyncio.IncompleteReadError, TimeoutError)

log = structlog.get_logger(__name__)


class _Result(IntEnum):
    """What directories say of a bind, as far as it matters here."""

    SUCCESS = 0
    NO_SUCH_OBJECT = 32
    INVALID_DN_SYNTAX = 34
    INAPPROPRIATE_AUTHENTICATION = 48
    INVALID_CREDENTIALS = 49


_RESULTS: Final = frozenset(_Result)


class Directories:
    """Equal directories, which are asked in order until one answers."""

    def __init__(
        self, addresses: tuple[Address, ...], user_dn: str, trusted: ssl.SSLContext
    ) -> None:
        """`user_dn` has `{user}` where the user's name belongs."""
        self._addresses = addresses
        self._user_dn = user_dn
        self._trusted = trusted
        self._turn = asyncio.Semaphore(BINDS_MAX)

    async def check(self, user: str, password: str) -> str:
        """The user's name in lower case, since directories unite it with other spellings. Raises
        RefusedLoginError if this isn't the user's password, or if no directory says.
        """
        # Directories unite `straße` with `strasse` (RFC 4518), or, as OpenLDAP, they don't. So the
        # first is known by its own name only where the password isn't that of the second.
        names = dict.fromkeys(
            unicodedata.normalize("NFKC", name) for name in (user.casefold(), user.lower())
        )
        for name in names:
            result = await self._result(name, password)
            if result is _Result.SUCCESS:
                return name
        raise RefusedLoginError(WRONG, f"user {user!r}: {result.name}")

    async def _result(self, user: str, password: str) -> _Result:
        """What the first directory says that answers. Raises RefusedLoginError if none does."""
        request = _bind_request(self._user_dn.replace("{user}", _escaped(user)), password)
        for address in self._addresses:
            try:
                async with self._turn, asyncio.timeout(BIND_TIMEOUT_S):
                    code = await self._bind(address, request)
            except _FAULTS as error:
                why = str(error) or "no answer in time"
                log.warning("a directory doesn't answer", host=address[0], port=address[1], why=why)
                continue
            if code in _RESULTS:
                return _Result(code)
            log.warning("a directory can't check a password", host=address[0], code=code)
        raise RefusedLoginError(
            "no directory can check the password now: try again later",
            f"user {user!r}: no directory of thrift.ldap_url can check the password",
        )

    async def faults(self) -> dict[Address, str]:
        """The directories that answer no bind, and why; whom they let in doesn't matter."""
        faults = {}
        for address in self._addresses:
            try:
                async with asyncio.timeout(BIND_TIMEOUT_S):
                    await self._bind(address, _bind_request("", ""))
            except _FAULTS as error:
                faults[address] = str(error) or "no answer in time"
        return faults

    async def _bind(self, address: Address, request: bytes) -> int:
        """The result code of a bind. Raises ValueError if the answer can't be read."""
        reader, writer = await asyncio.open_connection(
            *address, ssl=self._trusted, limit=ANSWER_BYTES_MAX
        )
        try:
            writer.write(request)
            return _code(await _read(reader))
        finally:
            # A usual end of TLS would wait for the directory.
            writer.transport.abort()


class _Part(NamedTuple):
    tag: int
    content: bytes
    rest: bytes


def _bind_request(name: str, password: str) -> bytes:
    parts = _value(_INTEGER, _VERSION), _value(_TEXT, name.encode())
    bind = _value(_BIND, b"".join((*parts, _value(_PASSWORD, password.encode()))))
    return _value(_SEQUENCE, _value(_INTEGER, b"\x01") + bind)


def _value(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    return bytes((tag, 0x82)) + size.to_bytes(2, "big") + content


async def _read(reader: asyncio.StreamReader) -> bytes:
    """The content of a message."""
    tag, size = await reader.readexactly(2)
    if tag != _SEQUENCE:
        raise ValueError("the answer isn't LDAP's")
    if size >= 0x80:
        size = int.from_bytes(await reader.readexactly(size & 0x7F), "big")
    if size > ANSWER_BYTES_MAX:
        raise ValueError(f"the answer has {size} bytes")
    return await reader.readexactly(size)


def _code(message: bytes) -> int:
    number = _part(message)
    bound = _part(number.rest)
    code = _part(bound.content)
    if (number.tag, bound.tag, code.tag) != (_INTEGER, _BOUND, _ENUMERATED):
        raise ValueError("the answer isn't that to a bind")
    return int.from_bytes(code.content, "big")


def _part(data: bytes) -> _Part:
    """The first part of a content."""
    if len(data) < 2:
        raise ValueError("the answer is cut off")
    tag, size, at = data[0], data[1], 2
    if size >= 0x80:
        at += size & 0x7F
        size = int.from_bytes(data[2:at], "big")
    if at + size > len(data):
        raise ValueError("the answer is cut off")
    return _Part(tag, data[at : at + size], data[at + size :])


def _escaped(text: str) -> str:
    """A text as a value in a distinguished name (RFC 4514)."""
    return "".join(f"\\{char}" if char in _ESCAPED else char for char in text)
