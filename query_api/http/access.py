"""Access control by bearer tokens, whose hashes are in a file."""

import hmac
import re
from collections.abc import Mapping
from enum import Enum, IntEnum
from hashlib import sha256
from pathlib import Path
from typing import Final

from hive.errors import InputError
from query_api.watched_file import WatchedFile

_LINE: Final = re.compile(r"(read|admin)\s+([0-9a-f]{64})(\s+.*)?")
TOKEN_BYTES_MAX: Final = 512


class Role(IntEnum):
    """What a token allows; the higher role includes the lower."""

    NONE = 0
    READ = 1
    ADMIN = 2


class Access(Enum):
    """Who may call an operation; the value is the statuses that others get."""

    EVERYBODY = ()
    READERS = ("401", "403")
    ADMINISTRATORS = ("403",)


class Tokens:
    """The hashes of tokens by role. Without a file, everybody who reaches the port may read."""

    def __init__(
        self, hashes: Mapping[bytes, Role] | None, names: Mapping[bytes, str] | None = None
    ) -> None:
        self._hashes = hashes
        self._names = names or {}

    @property
    def version(self) -> int:
        """A number that changes with the tokens."""
        return 0

    @property
    def are_known(self) -> bool:
        """Whether a file of tokens is configured."""
        return self._hashes is not None

    def holder_of(self, authorization: bytes | None) -> tuple[Role, str]:
        """The role that the header `Authorization: Bearer …` gives, and the name of the token's
        holder: as the file has it, or the beginning of the hash. Takes constant time, so that it
        reveals nothing about the hashes.
        """
        if self._hashes is None:
            return Role.ADMIN, ""
        scheme, _, token = (authorization or b"").partition(b" ")
        if scheme.lower() != b"bearer" or len(token) > TOKEN_BYTES_MAX:
            return Role.NONE, ""
        digest, role = sha256(token).digest(), Role.NONE
        for known_digest, role_of_digest in self._hashes.items():
            if hmac.compare_digest(known_digest, digest):
                role = role_of_digest
        return role, self._names.get(digest) or digest.hex()[:8]


OPEN: Final = Tokens(None)


class FileTokens(Tokens):
    """The tokens in a file, which is read again when it has changed.

    Its lines are `read|admin SHA-256-in-hex [holder]`; `#` begins a comment.
    """

    def __init__(self, path: Path) -> None:
        self._file = WatchedFile(path, _read)
        super().__init__(*self._file.content())

    @property
    def version(self) -> int:
        self._update()
        return self._file.reads

    def holder_of(self, authorization: bytes | None) -> tuple[Role, str]:
        self._update()
        return super().holder_of(authorization)

    def _update(self) -> None:
        self._hashes, self._names = self._file.content()


def _read(path: Path) -> tuple[dict[bytes, Role], dict[bytes, str]]:
    hashes: dict[bytes, Role] = {}
    names: dict[bytes, str] = {}
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _LINE.fullmatch(text)
        if match is None:
            raise InputError(
                f"{path}, line {number}: write read or admin, then the SHA-256 of the token in hex"
            )
        token = bytes.fromhex(match[2])
        hashes[token] = Role[match[1].upper()]
        names[token] = (match[3] or "").strip()
    return hashes, names
