"""The worker's own token for metastores that want a JWT."""

import re
from pathlib import Path
from typing import Final

from hive.errors import InputError
from query_api.watched_file import WatchedFile

TOKEN_CHARS_MAX: Final = 32 * 1024
_TOKEN: Final = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)


class JwtFile:
    """A file with a token, which somebody else renews. A metastore checks it, nobody here."""

    def __init__(self, path: Path) -> None:
        """Raises InputError if there is no token."""
        try:
            self._file = WatchedFile(path, _read)
        except OSError as error:
            raise InputError(f"upstream.jwt_file {path} can't be read: {error.strerror}") from error

    def header(self) -> bytes:
        """What a request has as its `Authorization`."""
        return self._file.content()


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        text = file.read(TOKEN_CHARS_MAX + 1).decode(errors="replace").strip()
    if len(text) > TOKEN_CHARS_MAX or not _TOKEN.fullmatch(text):
        raise InputError(f"upstream.jwt_file {path} is to hold a token (JWT) and nothing else")
    return f"Bearer {text}".encode()
