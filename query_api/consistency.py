"""How fresh an answer must be, in a word."""

from enum import StrEnum


class Consistency(StrEnum):
    """How fresh an answer must be."""

    ANY = "any"
    """Any state of the cache."""
    AT_LEAST = "at_least"
    """At least as new as a position."""
    WRITE_IDS = "write_ids"
    """Contains exactly the commits of a write-id list."""
    WITHIN = "within"
    """Contains everything that was committed up to some time before the request arrived."""
    LATEST = "latest"
    """Contains everything that was committed before the request arrived."""
