"""The parts with which the servers of one process answer: shards, database, and resolver."""

from query_api.in_flight import Budget
from query_api.latest.recent_reads import RecentReads
from query_api.resolver.database import Database
from query_api.resolver.resolver import Resolver
from query_api.resolver.shared_reads import LatestReads
from query_api.shards import ShardSource, Views


class Backend:
    """All servers of an event loop use the same backend, so that they share snapshots, threads,
    reads of the current event, and the budget of bytes in flight.

    Only the thread of the event loop may use it.
    """

    def __init__(
        self, shards: ShardSource, database: Database, in_flight: Budget | None = None
    ) -> None:
        self.database = database
        self.views = Views(shards)
        self.recent = RecentReads(database.after_now, database.history, self.views.positions)
        self.resolver = Resolver(self.views, database, self.recent)
        self.latest = LatestReads(database)
        self.in_flight = in_flight or Budget()

    async def close(self) -> None:
        """Ends its reads and threads, once no server uses it. The caller closes the database."""
        await self.latest.close()
        await self.recent.close()
        self.resolver.close()
