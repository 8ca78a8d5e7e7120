"""What a worker offers to operators: administration, and audits on demand and in the background."""

import asyncio

from starlette.routing import BaseRoute

from metatide.config import Config
from metatide.worker.shards import WorkerShards
from processors.worker import Worker
from query_api.admin import Administration
from query_api.audit import Auditor, Rounds, audit_routes
from query_api.database import Primary
from query_api.http import Settings
from query_api.shards import Views


class Operators:
    """The operators' functions of a worker with a database."""

    def __init__(
        self,
        config: Config,
        worker: Worker,
        shards: WorkerShards,
        primary: Primary,
        settings: Settings,
    ) -> None:
        views = Views(shards)
        self._auditor = Auditor(views, primary)
        self._every_s = config.audit.every_s
        self._rounds = Rounds(self._auditor, self._every_s, config.audit.scopes)
        self.routes: list[BaseRoute] = [
            *Administration(views, worker).routes(settings.tokens),
            *audit_routes(self._auditor, settings.tokens),
        ]
        self.metrics_page = self._rounds.metrics.page

    async def run(self) -> None:
        """Runs until it is cancelled."""
        try:
            if self._every_s:
                await self._rounds.run()
            await asyncio.Event().wait()
        finally:
            self._auditor.close()
