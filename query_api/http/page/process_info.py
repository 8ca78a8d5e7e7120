"""What the page shows of the process around a server of reads."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from query_api.reasons import Reason, Source


class Answered(msgspec.Struct, frozen=True):
    """How many reads were answered since the worker began, by source and reason."""

    server: str
    """`http` or `thrift`."""
    source: str
    reason: str
    count: int


async def _nothing() -> None:
    pass


@dataclass(frozen=True)
class ProcessInfo:
    """Facts about the process that a server of reads can't know by itself."""

    status: Callable[[], Any] = lambda: None
    """The worker's status, as in `/v1/status`."""
    answered: Callable[[], list[Answered]] = list
    """The answers of other servers in the same process."""
    measure: Callable[[], Awaitable[None]] = _nothing
    """Brings the status and the metrics up to date."""


def answered_by(server: str, counts: Mapping[tuple[Source, Reason], int]) -> list[Answered]:
    """The answers that a server has counted."""
    return [Answered(server, source, reason, count) for (source, reason), count in counts.items()]
