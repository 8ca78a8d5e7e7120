"""Has the metastore decide who may see a table or a database, and remembers what it said."""

import asyncio
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Set
from functools import partial
from typing import Final

import msgspec

from query_api.authorization.areas import Area
from query_api.authorization.authorizer import Reader
from query_api.elapsed import elapsed_s
from query_api.latest.log_end import LogEnd
from query_api.positions import Position
from query_api.resolver.shared_reads import LogEndReads
from query_api.shared_attempt import SharedAttempt

REMEMBERED_MAX: Final = 100_000
ASKED_MAX: Final = 16
"""The number of tables that the metastore is asked about for one call."""


class _Verdict(msgspec.Struct, eq=False):
    attempt: SharedAttempt[bool]
    reached: Position
    """The event up to which none has touched the object since the metastore was asked."""
    is_allowed: bool = False
    until_s: float = 0.0


class MetastoreVerdicts:
    """An authorizer. It asks by one read for each user and table or database. What the metastore
    says holds for a limited time, and until an event touches the object: neither does it count for
    an answer that is older than such an event, or of another epoch. Lists are the metastore's,
    because it may leave out some of them.
    """

    def __init__(self, log_end_reads: LogEndReads, valid_s: float) -> None:
        self._log_end_reads = log_end_reads
        self._valid_s = valid_s
        self._verdicts: OrderedDict[tuple[Hashable, Area], _Verdict] = OrderedDict()

    async def may_see(self, reader: Reader, areas: Set[Area], position: Position) -> bool:
        if any(area.is_list or not area.db for area in areas):
            return False
        verdicts = {area: self._verdict(reader, area, position.epoch) for area in areas}
        reached = [verdict.reached for verdict in verdicts.values() if verdict.until_s]
        log = await self._log(min([*reached, position]))
        if log is None or not _is_untouched(areas, position, log):
            return False
        unsaid = [area for area, verdict in verdicts.items() if not _holds(verdict, area, log)]
        said = verdicts.keys() - set(unsaid)
        if len(unsaid) > ASKED_MAX or not all(verdicts[area].is_allowed for area in said):
            return False
        for area in unsaid:
            verdict = verdicts[area]
            renew = partial(self._renew, reader, area, verdict, position)
            if not await verdict.attempt.outcome(renew):
                return False
        return not unsaid or await self._still_allow(verdicts, position)

    def _verdict(self, reader: Reader, area: Area, epoch: int) -> _Verdict:
        key = reader.key, area
        verdict = self._verdicts.get(key)
        if verdict is None or verdict.reached.epoch != epoch:
            verdict = self._verdicts[key] = _Verdict(SharedAttempt(), Position(epoch, 0))
            if len(self._verdicts) > REMEMBERED_MAX:
                self._verdicts.popitem(last=False)
        self._verdicts.move_to_end(key)
        return verdict

    async def _still_allow(self, verdicts: Mapping[Area, _Verdict], position: Position) -> bool:
        """Whether neither verdicts of which some were just given, maybe to another call, nor an
        answer as of this position lack an event that touched what they are about.
        """
        since = min(position, *(verdict.reached for verdict in verdicts.values()))
        log = await self._log(since)
        if log is None or not _is_untouched(verdicts, since, log):
            return False
        return all(verdict.is_allowed for verdict in verdicts.values())

    async def _renew(
        self, reader: Reader, area: Area, verdict: _Verdict, position: Position
    ) -> bool:
        before = await self._log(verdict.reached if verdict.until_s else position)
        if before is None or before.epoch != position.epoch:
            return False
        if _holds(verdict, area, before):
            # Another call of the user has asked meanwhile.
            return verdict.is_allowed
        start_s, began = elapsed_s(), Position(before.epoch, before.current)
        verdict.until_s = 0.0
        is_allowed = await reader.may_read(area)
        if is_allowed is None:
            return False
        verdict.is_allowed, verdict.reached = is_allowed, began
        verdict.until_s = start_s + self._valid_s
        return is_allowed

    async def _log(self, reached: Position) -> LogEnd | None:
        """The log after this event, by a read that begins now; None if it can't be read."""
        shown: asyncio.Future[LogEnd | None] = asyncio.get_running_loop().create_future()

        def take(log: LogEnd | None) -> None:
            if not shown.done():
                shown.set_result(log)

        self._log_end_reads.ask(reached, take)
        return await shown


def _is_untouched(areas: Iterable[Area], position: Position, log: LogEnd) -> bool:
    """Whether no event after a position can have touched any of these areas."""
    return log.leaves((target for area in areas for target in area.targets), position)


def _holds(verdict: _Verdict, area: Area, log: LogEnd) -> bool:
    """Whether a verdict still counts; if so, it is as of this log from now on."""
    if elapsed_s() >= verdict.until_s or not log.leaves(area.targets, verdict.reached):
        return False
    verdict.reached = max(verdict.reached, Position(log.epoch, log.current))
    return True
