"""A record that the live consumer hands to its shard."""

from typing import NamedTuple


class LiveRecord(NamedTuple):
    """A record of a topic as it arrives."""

    offset: int
    value: bytes
    written_ms: int
    """When the broker received it, as Unix time."""
