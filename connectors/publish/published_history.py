"""Checks whether the log still holds the published history. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from connectors.log.source import Poll


class PublishedEvent(NamedTuple):
    """The last event that any connector is known to have published."""

    event_id: int
    hash: bytes | None
    """The hash of its row; None if there is none, as at a beginning and where rows are missing."""


class OtherHistory(NamedTuple):
    """The log isn't the one that events were published from."""

    why: str


def check(poll: Poll, published: PublishedEvent, reached: int = 0) -> OtherHistory | None:
    """Compares the sequence and the checked row of a poll with what was published, and the last
    event that a load, or brokers that have lost it since, are known to have seen."""
    if poll.current < published.event_id:
        return OtherHistory(
            f"the last event is {poll.current}, but {published.event_id} was published: "
            "ids went back"
        )
    if poll.current < reached:
        return OtherHistory(
            f"the last event is {poll.current}, but the log had come to {reached} before: ids "
            "went back"
        )
    if published.hash is not None and poll.checked not in (None, published.hash):
        return OtherHistory(
            f"event {published.event_id} differs from the one that was published, "
            "or its id occurs twice"
        )
    return None


def check_all(
    hashes: Mapping[int, bytes], published: Iterable[PublishedEvent]
) -> OtherHistory | None:
    """Compares rows of the log, by their hashes, with everything that was published of them.

    Of two connectors, one may have published events that the database lost, and the other those
    that it has instead, before either saw what the other wrote.
    """
    for event in sorted(published):
        if hashes.get(event.event_id, event.hash) != event.hash:
            return OtherHistory(f"event {event.event_id} differs from one that was published")
    return None


def check_missing(older: int | None, published: PublishedEvent) -> OtherHistory | None:
    """Judges why the checked row is missing, by an older event whose row is there.

    The metastore's cleaner removes rows up to a time, those of lower ids first. A writer takes
    an event's time before its id, so an event of a lower id may be younger by seconds, and stay.
    """
    if older is None:
        return None
    return OtherHistory(
        f"event {published.event_id} was published, but is missing while older ones are there, "
        f"as {older}"
    )
