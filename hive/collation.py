"""How a database sorts and compares texts, as far as that is certain without asking it."""

import string
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec

ASCII: Final = frozenset(map(chr, range(128)))
DIGITS: Final = frozenset(string.digits)
ALPHANUMERIC: Final = frozenset(string.digits + string.ascii_lowercase)
LATIN: Final = ASCII | frozenset(map(chr, range(0xA0, 0x100)))


class Collation(msgspec.Struct, frozen=True):
    """The order of texts in one database.

    Languages differ in how they order punctuation, capitals, accents and pairs of letters. But all
    of them order two texts that first differ in digits by these digits, and most do the same with
    small letters.
    """

    name: str
    by_bytes: bool = False
    """Texts are sorted as the bytes of UTF-8."""
    sure: frozenset[str] = frozenset()
    """Two texts that first differ in two of these characters sort by their bytes."""
    is_exact: bool = True
    """Texts are equal only if they are identical."""
    on_mysql: bool = False
    """Whether the database is, or may be, MySQL or MariaDB, where some of Hive's SQL fails."""

    def is_sure(self, text: str, other: str) -> bool:
        """Whether the database certainly sorts these two texts by their bytes."""
        if self.by_bytes or text == other:
            return True
        for here, there in zip(text, other, strict=False):
            if here != there:
                return here in self.sure and there in self.sure
        # One text is a prefix of the other.
        return bool(self.sure)

    def keeps(self, texts: Sequence[str]) -> bool:
        """Whether these texts, which are sorted by their bytes, are in the database's order too."""
        return self.by_bytes or all(self.is_sure(*pair) for pair in pairwise(texts))


BY_BYTES: Final = Collation("C", by_bytes=True)
UNKNOWN: Final = Collation("unknown", is_exact=False, on_mysql=True)
