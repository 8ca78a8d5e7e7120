"""Background audits: every round compares a few scopes chosen at random and counts the results."""

import asyncio
import random
import time
from typing import Final

import structlog

from hive.errors import MetatideError
from query_api.audit.auditor import Auditor
from query_api.audit.findings import AuditResult
from query_api.audit.metrics import Metrics
from query_api.audit.scopes import draw, known_scopes
from state.records import ScopeKind

FIELDS_LOGGED: Final = 5
REPAIRS: Final = "metatide audit --table shows all; metatide admin refresh repairs it"
REPAIRS_LISTS: Final = (
    "metatide audit shows all; metatide prewarm --again, which loads all lists, repairs it"
)

log = structlog.get_logger(__name__)


class Rounds:
    """The background audits of one worker."""

    def __init__(self, auditor: Auditor, every_s: float, scopes: int) -> None:
        self._auditor = auditor
        self._every_s = every_s
        self._scopes = scopes
        self.metrics = Metrics()

    async def run(self) -> None:
        """Audits until it is cancelled. The first round begins after a random delay, so that
        workers don't audit all at once.
        """
        self.metrics.every_s.set(self._every_s)
        self.metrics.finished_s.set(time.time())
        await asyncio.sleep(random.uniform(0, self._every_s))
        while True:
            try:
                await self.round()
                self.metrics.finished_s.set(time.time())
            except MetatideError as error:
                self.metrics.faults.inc()
                log.warning("an audit failed", why=str(error))
            except Exception:
                # Else there would be no further one.
                self.metrics.faults.inc()
                log.exception("an audit failed")
            await asyncio.sleep(self._every_s)

    async def round(self) -> None:
        """Compares a few scopes."""
        scopes = await asyncio.to_thread(lambda: list(known_scopes(self._auditor.views)))
        for result in await self._auditor.audit(draw(scopes, self._scopes, random.getrandbits(63))):
            self._count(result)

    def _count(self, result: AuditResult) -> None:
        self.metrics.objects.inc(result.objects)
        self.metrics.disagreements.inc(result.wrong)
        if result.wrong:
            self.metrics.disagreed_s.set(time.time())
        for reason in result.left_out.values():
            self.metrics.left_out.labels(reason.partition(":")[0]).inc()
        for difference in result.differences:
            if not difference.silent:
                log.error(
                    "the cache differs from the database",
                    scope=f"{result.scope.kind} {result.scope.name}",
                    object=difference.object,
                    position=str(result.position),
                    fields=[field.field for field in difference.fields[:FIELDS_LOGGED]],
                    only_in=difference.only_in,
                    remedy=REPAIRS if result.scope.kind is ScopeKind.TABLE else REPAIRS_LISTS,
                )
