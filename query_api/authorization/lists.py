"""Users and what each may see, from a file. Whoever isn't in it sees nothing."""

from collections.abc import Iterable, Set
from pathlib import Path
from typing import Final, NamedTuple

import structlog

from hive.errors import InputError
from query_api.authorization.areas import Area, AreaPattern
from query_api.authorization.authorizer import Reader
from query_api.positions import Position
from query_api.watched_file import WatchedFile

EVERYBODY: Final = "*"
LINES_MAX: Final = 100_000

log = structlog.get_logger(__name__)


class Grants(NamedTuple):
    """The patterns of each user."""

    by_user: dict[str, tuple[AreaPattern, ...]]

    def allow(self, user: str, area: Area) -> bool:
        names = (user, EVERYBODY) if user else ()
        return any(pattern.covers(area) for name in names for pattern in self.by_user.get(name, ()))


NO_GRANTS: Final = Grants({})


class Lists:
    """An authorizer. The file is read again when it has changed; while it can't be read, nobody
    sees anything.
    """

    def __init__(self, path: Path) -> None:
        """Raises InputError if the file can't be read."""
        read_grants(path)
        self._file = WatchedFile(path, _read_or_deny)

    async def may_see(self, reader: Reader, areas: Set[Area], position: Position) -> bool:
        # A name is allowed whatever bears it.
        grants = self._file.content()
        return all(grants.allow(reader.user, area) for area in areas)


def read_grants(path: Path) -> Grants:
    """Lines of a user and patterns, with blanks in between; a `#` begins a comment. Raises
    InputError.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"thrift.authorization_lists: {path} can't be read: {error}") from error
    if len(lines) > LINES_MAX:
        raise InputError(f"thrift.authorization_lists: {path} has more than {LINES_MAX} lines")
    return grants_of(lines, path)


def grants_of(lines: Iterable[str], path: Path) -> Grants:
    by_user: dict[str, tuple[AreaPattern, ...]] = {}
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        user, *patterns = words
        try:
            more = AreaPattern.several(patterns)
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from error
        by_user[user] = (*by_user.get(user, ()), *more)
    return Grants(by_user)


def _read_or_deny(path: Path) -> Grants:
    try:
        return read_grants(path)
    except InputError as error:
        log.error("nobody is answered from the cache until this is corrected", why=str(error))
        return NO_GRANTS
