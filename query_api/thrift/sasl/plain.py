"""SASL's PLAIN (RFC 4616): a name and a password, which a directory or a function checks."""

import unicodedata
from typing import Final, Protocol

from hive.errors import RefusedLoginError
from query_api.thrift.sasl.mechanism import Accepted

NAME: Final = "PLAIN"
CHARS_MAX: Final = 256
"""The length of a name or a password."""
WRONG: Final = "wrong user name or password"
_UNSEEN: Final = frozenset("\u034f\u1806\u180b\u180c\u180d\ufffc") | set(
    map(chr, range(0xFE00, 0xFE10))
)
"""What directories leave out of names (RFC 4518), beside what can't be printed."""


class Passwords(Protocol):
    """Checks passwords."""

    async def check(self, user: str, password: str, /) -> str:
        """The name by which the user is known, whatever spelling of it was given. Raises
        RefusedLoginError if this isn't the user's password.
        """
        ...


class Plain:
    """The mechanism. It keeps no password."""

    def __init__(self, passwords: Passwords) -> None:
        self.passwords: Final = passwords

    def begin(self) -> "Plain":
        """The exchange is a single response, which needs no state."""
        return self

    async def answer(self, response: bytes) -> Accepted:
        try:
            acts_for, user, password = response.decode().split("\0")
        except ValueError:
            raise RefusedLoginError("PLAIN's response is a name and a password") from None
        if acts_for not in ("", user):
            raise RefusedLoginError("a user can't log in for another one by PLAIN")
        return Accepted(await check_password(self.passwords, user, password))


async def check_password(passwords: Passwords, user: str, password: str) -> str:
    """The name by which the user is known. Raises RefusedLoginError if this isn't the user's
    password, or if there can't be such a user.
    """
    if not password:
        # A directory lets in whoever shows no password, as nobody.
        raise RefusedLoginError(WRONG, f"user {user[:CHARS_MAX]!r} sent no password")
    if len(password) > CHARS_MAX or not is_user(user):
        raise RefusedLoginError(WRONG, f"{user[:CHARS_MAX]!r} can't be the name of a user")
    return await passwords.check(user, password)


def is_user(user: str) -> bool:
    """Whether the text can be the name of a user, and a directory takes it as it stands, but for
    the case of letters. It takes some texts for the names of others: it leaves out spaces and other
    characters, and unites similar letters.
    """
    if len(user) > CHARS_MAX or not _UNSEEN.isdisjoint(user):
        return False
    is_printed = user.isprintable() and not any(map(str.isspace, user))
    return bool(user) and is_printed and unicodedata.is_normalized("NFKC", user)
