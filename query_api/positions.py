"""Positions in the metastore's history."""

import re
from typing import NamedTuple

from hive.errors import InputError

_TEXT = re.compile(r"([0-9]{1,18}):([0-9]{1,19})")


class Position(NamedTuple):
    """An event id within an epoch. A later epoch is another history of the database."""

    epoch: int
    event: int

    def __str__(self) -> str:
        return f"{self.epoch}:{self.event}"


def parse_position(text: str) -> Position:
    """Parses `epoch:event`, as in the header `Metatide-Position`."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise InputError(
            f"bad position {text[:40]!r}: pass on the header Metatide-Position, such as 0:1234"
        )
    return Position(int(match[1]), int(match[2]))
