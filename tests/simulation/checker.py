"""Holds each answer against the history of the database."""

from typing import Final

from hive.write_ids.snapshot import TxnState
from query_api.reads.databases import GetDatabase
from query_api.reasons import Reason, Source
from query_api.requirement import Consistency
from tests.simulation.database import Database, Moment
from tests.simulation.questions import AGE_MS, Answered, plain

_NEVER: Final = (Reason.PAUSED, Reason.EXCLUDED)
"""Nothing in a simulation gives rise to these."""


class WrongAnswerError(AssertionError):
    """An answer that no moment allows."""


class Checker:
    """Knows every moment that the database ever had."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.checked = 0

    def __call__(self, answered: Answered) -> None:
        self.checked += 1
        value, question = plain(answered.value), answered.question
        if answered.reason in _NEVER or (
            # The log doesn't tell all about databases.
            answered.reason is Reason.SILENT_LOG and not isinstance(question.read, GetDatabase)
        ):
            raise self._wrong(answered, f"a miss without a cause: {answered.reason}")
        requirement = question.requirement
        if requirement.latest:
            began_s = answered.began_s - requirement.max_age_ms / 1000
            if requirement.max_age_ms:
                assert requirement.max_age_ms == AGE_MS
                began_s -= 0.001
            allowed = self._database.between(began_s, answered.ended_s)
            if not any(question.truth(moment) == value for moment in allowed):
                raise self._wrong(answered, "the database never said so meanwhile", allowed)
            return
        least = requirement.min_position
        if least is not None and answered.position < least:
            raise self._wrong(answered, f"older than {least}")
        states = self._at_position(answered)
        if not any(question.truth(moment) == value for moment in states):
            raise self._wrong(answered, "the database never said so at that position", states)
        if requirement.consistency is Consistency.WRITE_IDS and answered.source is Source.CACHE:
            self._check_writes(answered, [m for m in states if question.truth(m) == value])

    def _at_position(self, answered: Answered) -> list[Moment]:
        """The states that have this position, in any history: an epoch doesn't name one."""
        event = answered.position.event
        return [m for m in self._database.moments if m.event == event]

    def _check_writes(self, answered: Answered, states: list[Moment]) -> None:
        """What is served holds the writes of the list, and no others; aborted ones don't matter."""
        requirement = answered.question.requirement
        ids, applied = requirement.write_ids, answered.position.event
        assert ids is not None
        histories = {moment.history for moment in states}
        asked_in = answered.question.asked.history
        for write in self._database.writes:
            if write.table_id != requirement.table_id or write.history not in histories:
                continue
            if write.history != asked_in:
                continue
            state = self._database.now.txns.get(write.txn)
            if self._database.now.history != write.history or state is TxnState.ABORTED:
                continue
            if ids.is_valid(write.write_id):
                if write.event > applied:
                    raise self._wrong(answered, f"it lacks {write}")
            elif write.event <= applied and not requirement.accept_newer:
                raise self._wrong(answered, f"{write} isn't the reader's to see")

    def _wrong(
        self, answered: Answered, why: str, allowed: list[Moment] | None = None
    ) -> WrongAnswerError:
        question = answered.question
        lines = [
            f"wrong answer: {why}",
            f"  {question.read}",
            f"  {question.requirement}",
            f"  asked at {answered.began_s:.6f} s, answered at {answered.ended_s:.6f} s from "
            f"{answered.source} ({answered.reason} {answered.detail}) at {answered.position}",
            f"  answer:  {plain(answered.value)!r}",
        ]
        for moment in (allowed or [])[:4]:
            lines.append(
                f"  event {moment.event} of history {moment.history}, since "
                f"{moment.committed_s:.6f} s: {question.truth(moment)!r}"
            )
        return WrongAnswerError("\n".join(lines))
