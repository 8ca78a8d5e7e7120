"""The numbers that a record may carry, and which version of a decision counts.

Other numbers are refused when the record is decoded: the fold stores numbers in fixed widths and
must accept every record that can be decoded.
"""

from typing import Annotated

from msgspec import Meta

NATURAL_MAX = 2**63 - 1
Natural = Annotated[int, Meta(ge=0, le=NATURAL_MAX)]
"""An event id, a version, a count."""
Word = Annotated[int, Meta(ge=0, le=2**32 - 1)]
"""A number of four bytes."""
Long = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""Any i64 of Thrift."""


def supersedes(version: int, current: int) -> bool:
    """Whether a decision of a version replaces the current one. Nothing is above the greatest
    version, so there the order of the topic decides, or a forged record of it could never be
    undone."""
    return version > current or version == NATURAL_MAX
