"""What a worker offers to operators: administration, and audits on demand and in the background."""

import asyncio
from typing import Any

from metatide.config import Config
from metatide.worker.shards import WorkerShards
from processors.worker import Worker
from query_api.admin import ORDERS, Administration
from query_api.audit import AUDITS, Auditor, Rounds
from query_api.database import Primary
from query_api.http.operation import OperationGroup
from query_api.shards import Views


class Operators:
    """The operators' functions of a worker with a database."""

    def __init__(
        self, config: Config, worker: Worker, shards: WorkerShards, primary: Primary
    ) -> None:
        views = Views(shards)
        self._auditor = Auditor(views, primary)
        self._every_s = config.audit.every_s
        self._rounds = Rounds(self._auditor, self._every_s, config.audit.scopes)
        self.operations: list[OperationGroup[Any]] = [
            OperationGroup(ORDERS, Administration(views, worker)),
            OperationGroup(AUDITS, self._auditor),
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
