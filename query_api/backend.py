"""The parts with which the servers of one process answer: shards, database, and resolver."""

from typing import TYPE_CHECKING

from query_api.in_flight import Budget
from query_api.latest.recent_reads import RecentReads
from query_api.resolver.database import Database
from query_api.resolver.resolver import Resolver
from query_api.resolver.shared_reads import LogEndReads
from query_api.shards import ShardSource, Views

if TYPE_CHECKING:
    from state.tracing import Tracing


class Backend:
    """All servers of an event loop use the same backend, so that they share snapshots, threads,
    reads of the current event, and the budget of bytes in flight.

    Only the thread of the event loop may use it.
    """

    def __init__(
        self,
        shards: ShardSource,
        database: Database,
        in_flight: Budget | None = None,
        tracing: "Tracing | None" = None,
    ) -> None:
        """`tracing` traces reads; None if that is off."""
        self.tracing = tracing
        self.database = database
        self.views = Views(shards)
        database.history.follow(self.views.marks)
        self.recent = RecentReads(database.after_now, database.history, self.views.positions)
        self.resolver = self._resolver(database)
        self.log_end_reads = LogEndReads(database)
        self.in_flight = in_flight or Budget()

    def _resolver(self, database: Database) -> Resolver:
        if self.tracing is None:
            return Resolver(self.views, database, self.recent)
        from query_api.resolver.traced_resolver import TracedResolver

        return TracedResolver(self.views, database, self.recent, self.tracing)

    async def close(self) -> None:
        """Ends its reads and threads, once no server uses it. The caller closes the database."""
        await self.log_end_reads.close()
        await self.recent.close()
        self.resolver.close()
