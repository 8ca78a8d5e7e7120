"""Audits of shards that a test folded."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from query_api.audit import Auditor, AuditResult, ObjectDifference
from query_api.audit.scopes import known_scopes
from query_api.database import Primary
from query_api.shards import ShardSource, Views
from state.records import Scope


def audited(
    url: str,
    shards: ShardSource,
    scopes: Sequence[Scope] = (),
    *,
    primary_of: Callable[[str], Primary] = Primary,
) -> list[AuditResult]:
    """Of these scopes, or of all."""

    async def run() -> list[AuditResult]:
        primary = primary_of(url)
        auditor = Auditor(Views(shards), primary)
        try:
            return await auditor.audit(scopes or [*known_scopes(auditor.views)])
        finally:
            auditor.close()
            await primary.close()

    return asyncio.run(run())


def differences(audits: Iterable[AuditResult]) -> list[tuple[Scope, ObjectDifference]]:
    """Those that the log would have told."""
    return [
        (audit.scope, difference)
        for audit in audits
        for difference in audit.differences
        if not difference.silent
    ]
