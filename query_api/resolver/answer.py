"""What the cache answers: a value with its grounds, or the reason why it has none."""

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import structlog

from hive.errors import NoSuchObjectError
from query_api.cached_objects import CachedObjects
from query_api.positions import Position
from query_api.reads.read import Read
from query_api.reasons import Reason, Source
from query_api.requirement import Requirement
from query_api.resolver.judgement import Judgement, first_miss, reader_of, store_error
from query_api.shards import Moment, Views

A = TypeVar("A")

log = structlog.get_logger(__name__)


class ReadAnswer(NamedTuple, Generic[A]):
    """A value, and the grounds on which it was given."""

    value: A | NoSuchObjectError
    source: Source
    reason: Reason
    position: Position
    detail: str = ""
    moment: Moment | None = None
    """The state that the answer was made from, if it depends on nothing else: while that state
    lasts, the same question has the same answer. For `latest`, it depends on the database, too."""


class Miss(NamedTuple):
    """Why the cache doesn't answer."""

    reason: Reason
    judgement: Judgement | None = None
    """The judgement of the target that can't be served; None if the read needs nothing cached."""

    @property
    def shard(self) -> int | None:
        """The shard that would have answered."""
        return None if self.judgement is None else self.judgement.shard

    @property
    def detail(self) -> str:
        return "" if self.judgement is None else self.judgement.facts.detail


def settle(
    views: Views, read: Read[A], requirement: Requirement, judged: Sequence[Judgement]
) -> ReadAnswer[A] | Miss:
    """The outcome of a read whose targets were judged for the last time."""
    miss = first_miss(judged)
    if miss is not None:
        return Miss(miss.verdict.reason, miss)
    if not judged:
        return Miss(Reason.DATABASE_ONLY)
    return serve(read, judged, moment_of(views, requirement, judged, judged))


def serve(
    read: Read[A], judged: Sequence[Judgement], moment: Moment | None = None
) -> ReadAnswer[A]:
    """The answer from the snapshots in which all targets may be served."""
    position, reason = judged[0].verdict.position, Reason.FRESH
    for judgement in judged:
        position = min(position, judgement.verdict.position)
        if judgement.verdict.reason is Reason.NEWER:
            reason = Reason.NEWER
    value: A | NoSuchObjectError
    try:
        value = read.answer(CachedObjects(reader_of(judged)))
    except NoSuchObjectError as missing:
        value = missing
    return ReadAnswer(value, Source.CACHE, reason, position, moment=moment)


def unreadable(views: Views, read: Read[Any], error: Exception) -> Miss:
    """The outcome of a read if a store fails."""
    log.warning("a store can't be read", error=str(error))
    target = read.targets[0]
    return Miss(Reason.STORE_ERROR, store_error(target, str(error), views.shard_of(target)))


def moment_of(
    views: Views,
    requirement: Requirement,
    judged: Sequence[Judgement],
    served: Sequence[Judgement],
) -> Moment | None:
    """The moment of an answer; None unless all targets were seen in one state of one shard."""
    reader = judged[0].reader
    assert reader is not None
    targets = []
    for judgement in judged:
        if judgement.reader is not reader:
            return None
        targets.append(judgement.target)
        if judgement.by_list is not None:
            targets.append(judgement.by_list)
    if not requirement.must_be_current:
        head = Position(reader.head.epoch, reader.head.applied)
        for judgement in served:
            if judgement.verdict.position != head:
                return None
    return views.moment(judged[0].shard, reader, tuple(targets))
