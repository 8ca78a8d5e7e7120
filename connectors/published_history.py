"""Whether the log still tells the history that was published, and where it has holes. Pure."""

from typing import NamedTuple

from connectors.source import Bounds, Poll


class PublishedEvent(NamedTuple):
    """The last event that anybody published, as far as we know."""

    event_id: int
    hash: bytes | None
    """None where no row was published: at a beginning, and where rows are missing."""


class OtherHistory(NamedTuple):
    """The log isn't the one that was published from."""

    why: str


class Hole(NamedTuple):
    """Events that no row tells of any more, from the first to the last."""

    first: int
    last: int
    why: str


CLEANED = "the metastore's cleaner removed them before they were read"
OUT_OF_ORDER = "rows around them are there; ids are not given in the order of commits"


def check(poll: Poll, known: PublishedEvent) -> OtherHistory | None:
    """What the poll's sequence and checked row alone tell."""
    if poll.current < known.event_id:
        return OtherHistory(
            f"the last event is {poll.current}, but {known.event_id} was published: ids went back"
        )
    if known.hash is not None and poll.checked not in (None, known.hash):
        return OtherHistory(
            f"event {known.event_id} is another one than was published, or its id occurs twice"
        )
    return None


def check_missing(bounds: Bounds, known: PublishedEvent) -> OtherHistory | None:
    """What a missing row means: the cleaner removes the oldest rows first."""
    if bounds.oldest is not None and bounds.oldest < known.event_id:
        return OtherHistory(
            f"event {known.event_id} was published, but is missing among older ones"
        )
    return None


def hole(bounds: Bounds, position: int, *, waited: bool) -> Hole | None:
    """What is missing right after the position; None if it may still become visible."""
    last = bounds.current if bounds.next is None else bounds.next - 1
    if last <= position:
        return None
    if bounds.oldest is None or bounds.oldest > position:
        return Hole(position + 1, last, CLEANED)
    return Hole(position + 1, last, OUT_OF_ORDER) if waited else None
