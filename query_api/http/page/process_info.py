"""What the page shows of the process around a server of reads."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from query_api.answer_times import AnswerTimes
from query_api.reasons import Reason, Source


class AnswerCount(msgspec.Struct, frozen=True):
    """How many reads were answered since the worker began, by source and reason."""

    server: str
    """`http` or `thrift`."""
    source: str
    reason: str
    count: int


class LatencyHistogram(msgspec.Struct, frozen=True):
    """How long a server's answers from one source took, since the worker began: a count for each
    bucket of `bounds_s`, and one for slower answers."""

    server: str
    source: str
    """`cache`, `database` or `metastore`."""
    bounds_s: tuple[float, ...]
    """The upper bounds of the buckets but the last, which has none."""
    counts: list[int]


class MethodCalls(msgspec.Struct, frozen=True):
    """The calls of one method over Thrift, by who answered them."""

    method: str
    cache: int
    database: int
    metastore: int
    different: int
    """The calls that shadow mode found to be answered differently."""


class ThriftPart(msgspec.Struct, frozen=True):
    """A worker's Thrift server: its open connections, its calls, and how long they took."""

    connections: int
    methods: list[MethodCalls]
    times: list[LatencyHistogram]


async def _nothing() -> None:
    pass


@dataclass(frozen=True)
class ProcessInfo:
    """Facts about the process that a server of reads can't know by itself."""

    status: Callable[[], Any] = lambda: None
    """The worker's status, as in `/v1/status`."""
    answered: Callable[[], list[AnswerCount]] = list
    """The answers of other servers in the same process."""
    times: Callable[[], list[LatencyHistogram]] = list
    """How long this server's answers took."""
    thrift: Callable[[], ThriftPart | None] = lambda: None
    """The Thrift server of the same process; None if it has none."""
    missing_age_s: Callable[[], float | None] = lambda: None
    """The age of the oldest event that the cache lacks, as it was measured last."""
    measure: Callable[[], Awaitable[None]] = _nothing
    """Brings the status and the metrics up to date."""


def answered_by(server: str, counts: Mapping[tuple[Source, Reason], int]) -> list[AnswerCount]:
    """The answers that a server has counted."""
    return [
        AnswerCount(server, source, reason, count) for (source, reason), count in counts.items()
    ]


def times_of(server: str, times: Mapping[Source, AnswerTimes]) -> list[LatencyHistogram]:
    """The times of a server's answers, by source."""
    return [
        LatencyHistogram(server, source, each.bounds_s, list(each.counts))
        for source, each in times.items()
    ]
