"""Who may ask: bearer tokens, of which a file holds the hashes."""

import hmac
import re
from collections.abc import Mapping
from enum import IntEnum
from hashlib import sha256
from pathlib import Path
from typing import Final

from hive.errors import InputError

_LINE: Final = re.compile(r"(read|admin)\s+([0-9a-f]{64})(\s+.*)?")
TOKEN_BYTES_MAX: Final = 512


class Role(IntEnum):
    """What a token allows; the greater one includes the lesser."""

    NONE = 0
    READ = 1
    ADMIN = 2


class Tokens:
    """The hashes of tokens by role. Without a file, everybody who reaches the port may do all."""

    def __init__(self, hashes: Mapping[bytes, Role] | None) -> None:
        self._hashes = hashes

    def role_of(self, authorization: bytes | None) -> Role:
        """Of the header `Authorization: Bearer …`, in a time that tells nothing of the hashes."""
        if self._hashes is None:
            return Role.ADMIN
        scheme, _, token = (authorization or b"").partition(b" ")
        if scheme.lower() != b"bearer" or len(token) > TOKEN_BYTES_MAX:
            return Role.NONE
        given, found = sha256(token).digest(), Role.NONE
        for known, role in self._hashes.items():
            if hmac.compare_digest(known, given):
                found = role
        return found


OPEN: Final = Tokens(None)


def read_tokens(path: Path) -> Tokens:
    """Lines of `read|admin SHA-256-in-hex [whose it is]`; `#` begins a comment."""
    hashes: dict[bytes, Role] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _LINE.fullmatch(text)
        if match is None:
            raise InputError(
                f"{path}, line {number}: write read or admin, then the SHA-256 of the token in hex"
            )
        hashes[bytes.fromhex(match[2])] = Role[match[1].upper()]
    return Tokens(hashes)
