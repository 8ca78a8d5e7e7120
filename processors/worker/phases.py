"""The phases of a worker's shard."""

from enum import StrEnum


class Phase(StrEnum):
    """What a shard is doing. Only a live one follows the topic as it grows; what it serves is right
    in every phase."""

    OPENING = "opening"
    RESTORING = "restoring"
    """The shard's image is being fetched."""
    CATCHING_UP = "catching_up"
    LIVE = "live"
    OVER_LIMIT = "over_limit"
    """The worker has no room: nothing is applied until there is room again."""
    STOPPED = "stopped"
    """The next record can't be read: nothing is applied until an operator orders it to be
    skipped."""
    FAILED = "failed"
    """The shard failed and will be tried again; see its fault."""
    CLOSED = "closed"
