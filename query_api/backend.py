"""What the servers of one process answer from: the shards, the database, and the choice of one."""

from query_api.resolver.database import Database
from query_api.resolver.resolver import Resolver
from query_api.resolver.shared_reads import LatestReads
from query_api.shards import ShardSource, Views


class Backend:
    """One of each part for all servers of an event loop, so that they share snapshots, threads, and
    reads of the current event.

    Only the thread of the event loop may use it.
    """

    def __init__(self, shards: ShardSource, database: Database) -> None:
        self.database = database
        self.views = Views(shards)
        self.resolver = Resolver(self.views, database)
        self.latest = LatestReads(database)

    async def close(self) -> None:
        """Ends its reads and threads, once no server uses it. The caller closes the database."""
        await self.latest.close()
        self.resolver.close()
