"""What a worker offers to operators: administration, and audits on demand and in the background."""

from typing import Any

from metatide.config import Config
from processors.worker.worker import Worker
from query_api.audit import AUDITS, Auditor, Rounds
from query_api.background_tasks import Background
from query_api.database import Primary
from query_api.http.admin import ORDERS, Administration
from query_api.http.operation import OperationGroup
from query_api.shards import Views


class Operators:
    """The operators' functions of a worker with a database."""

    def __init__(self, config: Config, worker: Worker, primary: Primary, views: Views) -> None:
        self._auditor = Auditor(views, primary)
        self._audits = config.audit
        self._rounds = Rounds(self._auditor, self._audits.every_s, self._audits.scopes)
        self._background = Background()
        self.operations: list[OperationGroup[Any]] = [
            OperationGroup(ORDERS, Administration(views, worker)),
            OperationGroup(AUDITS, self._auditor),
        ]
        self.metrics = self._rounds.metrics.registry

    def start(self) -> None:
        """Begins the background audits, if any are configured."""
        if self._audits.every_s:
            self._background.start(self._rounds.run())

    async def close(self) -> None:
        await self._background.close()
        self._auditor.close()
