"""A resolver whose steps are traced."""

from collections.abc import Sequence
from typing import Any, TypeVar

from hive.errors import NoSuchObjectError
from query_api.latest.log_end import LogEnd
from query_api.latest.recent_reads import RecentReads
from query_api.positions import Position
from query_api.reads.read import Read, Rendered
from query_api.requirement import Requirement
from query_api.resolver.answer import ReadAnswer
from query_api.resolver.database import Database
from query_api.resolver.fallback_latency import FallbackLatency
from query_api.resolver.judgement import Judgement
from query_api.resolver.resolver import Resolver
from query_api.shards import Views
from state.tracing import DATABASE, JUDGE, READ, WAIT, Tracing, grounds

A = TypeVar("A")


class TracedResolver(Resolver):
    """Takes the place of a resolver when traces are on, so that they cost nothing when off."""

    def __init__(
        self, views: Views, database: Database, recent: RecentReads, tracing: Tracing
    ) -> None:
        super().__init__(views, database, recent)
        self._tracing = tracing

    async def answer(
        self, read: Read[A], requirement: Requirement, log_end: LogEnd | None = None
    ) -> ReadAnswer[A]:
        consistency = requirement.consistency.value
        kind = type(read.read if isinstance(read, Rendered) else read).__name__
        with self._tracing.step(READ, read=kind, consistency=consistency) as span:
            answer = await super().answer(read, requirement, log_end)
            grounds(span, answer.source, answer.reason, str(answer.position))
            return answer

    async def ask_database(self, read: Read[A]) -> tuple[A | NoSuchObjectError, Position]:
        with self._tracing.step(DATABASE):
            return await super().ask_database(read)

    async def _judge(
        self,
        read: Read[Any],
        requirement: Requirement,
        log_end: LogEnd | None,
        latency: FallbackLatency,
    ) -> tuple[list[Judgement], LogEnd | None]:
        with self._tracing.step(JUDGE):
            return await super()._judge(read, requirement, log_end, latency)

    async def _wait(
        self,
        read: Read[Any],
        requirement: Requirement,
        judged: Sequence[Judgement],
        wait_s: float,
        log_end: LogEnd | None,
    ) -> list[Judgement]:
        with self._tracing.step(WAIT):
            return await super()._wait(read, requirement, judged, wait_s, log_end)
