"""What a shard of a worker is doing."""

from enum import StrEnum


class Phase(StrEnum):
    """Only a live shard follows the topic as it grows; reads are right in every phase."""

    OPENING = "opening"
    RESTORING = "restoring"
    """Its image is being fetched."""
    CATCHING_UP = "catching_up"
    LIVE = "live"
    OVER_LIMIT = "over_limit"
    """The worker has no room: nothing is applied until there is some."""
    FAILED = "failed"
    """It will be tried again, see the fault."""
    CLOSED = "closed"
