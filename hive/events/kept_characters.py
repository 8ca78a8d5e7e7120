"""Messages with the texts that a database stores whose columns can't hold all characters.

Hive's scripts for MySQL make columns in latin1, and the metastore leaves the server's strict mode,
so that it stores a question mark for every character that latin1 lacks. Events have them.
"""

import re
from collections.abc import Iterable
from typing import Final

LATIN1: Final = re.compile("[^\0-\x7f\xa0-\xff\x81\x8d\x8f\x90\x9d€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]")
"""What MySQL's latin1 lacks, which is Windows' code page 1252."""
UTF8MB3: Final = re.compile("[\U00010000-\U0010ffff]")
_LACKED: Final = {"latin1": LATIN1, "utf8": UTF8MB3, "utf8mb3": UTF8MB3}

Lacked = re.Pattern[str]
"""Characters that no column of an object can hold."""


def lacked(charsets: Iterable[str]) -> Lacked | None:
    """What columns of these character sets all lack; None if one of them may hold anything."""
    names = set(charsets)
    if not names or not names <= _LACKED.keys():
        return None
    return LATIN1 if names == {"latin1"} else UTF8MB3


def as_kept(message: str | bytes, lacks: Lacked) -> str | bytes:
    """The JSON text of a message as if its writer had read the objects in it."""
    if message.isascii():
        return message
    return lacks.sub("?", message if isinstance(message, str) else message.decode())
