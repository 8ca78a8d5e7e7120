"""The decision whether the cache may answer: a pure function of facts and requirement."""

import msgspec

from hive.write_ids.lists import WriteIdList
from hive.write_ids.relations import contains
from query_api.consistency import Consistency
from query_api.facts import Current, Facts
from query_api.positions import Position
from query_api.reasons import SERVING, Reason
from query_api.requirement import Requirement


class Verdict(msgspec.Struct, frozen=True):
    """The outcome of a decision."""

    reason: Reason
    position: Position
    """The position up to which the answer would be complete."""
    wait_for: Position | None = None
    """Serving may become possible once the shard is complete up to here."""

    @property
    def serves(self) -> bool:
        return self.reason in SERVING


def decide(facts: Facts, requirement: Requirement, current: Current | None) -> Verdict:
    """Decides whether a target may be served; `current` is what was read of the database, if it was
    asked.

    Invariant: it serves only what fulfils every part of the requirement.
    """
    reached = facts.reached
    refused = facts.refused or _never(facts, requirement)
    if refused is not None:
        return Verdict(refused, reached)
    if current is not None and current.event > reached.event and current.blocked is None:
        reached = reached._replace(event=current.event)
    if requirement.must_be_current:
        if current is None:
            return Verdict(Reason.UNREAD, reached)
        if reached.event < current.event:
            assert current.blocked is not None
            wait_for = reached._replace(event=current.event)
            return Verdict(current.blocked, reached, wait_for)
    least = requirement.min_position
    if least is not None and reached < least:
        return Verdict(Reason.BEHIND, reached, least)
    return Verdict(_check_ids(facts, requirement), reached)


def _never(facts: Facts, requirement: Requirement) -> Reason | None:
    """The reason that no waiting can remove."""
    return Reason.SILENT_LOG if facts.silent and not requirement.takes_any else None


def _check_ids(facts: Facts, requirement: Requirement) -> Reason:
    """Checks the write-id list. Without one, tables without write ids give their current copy. A
    caller with a list knows the table as transactional, so the shard must know it as such too.
    """
    if requirement.consistency is not Consistency.WRITE_IDS:
        return Reason.FRESH
    requested = requirement.write_ids
    if requested is None:
        return Reason.NO_LIST if facts.managed else Reason.FRESH
    if not facts.managed or facts.table_id != requirement.table_id:
        return Reason.TABLE_ID
    if facts.write_ids is None:
        return Reason.COLD
    if facts.pending:
        return Reason.PENDING_WRITE
    return _compare(requested, facts.write_ids, accept_newer=requirement.accept_newer)


def _compare(requested: WriteIdList, cached: WriteIdList, *, accept_newer: bool) -> Reason:
    if not contains(cached, requested):
        return Reason.BEHIND
    if contains(requested, cached):
        return Reason.FRESH
    return Reason.NEWER if accept_newer else Reason.AHEAD
