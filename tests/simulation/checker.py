"""Holds each answer against the history of the database."""

from typing import Final

from hive.write_ids.snapshot import TxnState
from query_api.consistency import Consistency
from query_api.reads.databases import GetDatabase
from query_api.reasons import Reason, Source
from tests.simulation.database import Database, Moment
from tests.simulation.questions import AGE_MS, Answered, Question, plain

_NEVER: Final = (Reason.PAUSED, Reason.EXCLUDED)
"""Nothing in a simulation gives rise to these."""


class WrongAnswerError(AssertionError):
    """An answer that no moment allows."""


class Checker:
    """Knows every moment that the database ever had."""

    def __init__(self, database: Database, metastores_cache_s: float) -> None:
        self._database = database
        self._metastores_cache_s = metastores_cache_s
        self.checked = 0

    def __call__(self, answered: Answered) -> None:
        self.checked += 1
        # What a read gives may be read but once.
        answered = answered._replace(value=plain(answered.value))
        value, question = answered.value, answered.question
        if answered.reason in _NEVER or (
            # The log doesn't tell all about databases.
            answered.reason is Reason.SILENT_LOG and not isinstance(question.read, GetDatabase)
        ):
            raise self._wrong(answered, f"a miss without a cause: {answered.reason}")
        requirement = question.requirement
        if (
            answered.position is None
            and self._metastores_cache_s
            and self._may_be_of_a_metastore(answered)
        ):
            return
        if requirement.must_be_current:
            self._check_current(answered)
            return
        least, position = requirement.min_position, answered.position
        if least is not None and position is not None and position < least:
            raise self._wrong(answered, f"older than {least}")
        # Most answers are of one of the last moments.
        allowed = self._allowed(answered)
        states = (m for m in reversed(allowed) if question.truth(m) == value)
        last = next(states, None)
        if last is None:
            raise self._wrong(answered, "the database never said so", allowed)
        by_list = requirement.consistency is Consistency.WRITE_IDS
        if by_list and answered.source is not Source.DATABASE:
            self._check_writes(answered, [last, *states])

    def _may_be_of_a_metastore(self, answered: Answered) -> bool:
        """Whether a metastore may have answered from a cache of its own."""
        if answered.position is not None or not self._metastores_cache_s:
            return False
        began_s = answered.began_s - self._metastores_cache_s
        states = self._database.between(began_s, answered.ended_s)
        return any(answered.question.truth(moment) == answered.value for moment in states)

    def _check_current(self, answered: Answered) -> None:
        question, age_ms = answered.question, answered.question.requirement.max_age_ms
        began_s = answered.began_s - age_ms / 1000
        if age_ms:
            assert age_ms == AGE_MS
            began_s -= 0.001
        meanwhile = self._database.between(began_s, answered.ended_s)
        allowed = [moment for moment in meanwhile if moment.number >= answered.wrote_at]
        if not any(question.truth(moment) == answered.value for moment in allowed):
            raise self._wrong(answered, "the database never said so meanwhile", allowed)

    def _allowed(self, answered: Answered) -> list[Moment]:
        """The states that have the answer's position, in any history: an epoch doesn't name one.
        Without a position, all since what was written before."""
        moments, position = self._database.moments, answered.position
        if position is None:
            return moments[answered.wrote_at :]
        return [moment for moment in moments if moment.event == position.event]

    def _check_writes(self, answered: Answered, states: list[Moment]) -> None:
        """What is served holds the writes of the list, and no others; aborted ones don't matter."""
        question, position = answered.question, answered.position
        if position is not None:
            histories = {moment.history for moment in states}
            faults = [self._wrong_write(question, position.event, histories)]
        elif any(m in states for m in self._database.between(answered.began_s, answered.ended_s)):
            # A metastore may have said so, which doesn't look at the list.
            return
        else:
            faults = [self._wrong_write(question, m.event, {m.history}) for m in states]
        if None not in faults:
            raise self._wrong(answered, f"{faults[0]}")

    def _wrong_write(self, question: Question, applied: int, histories: set[int]) -> str | None:
        """What is wrong with an answer that has all up to an event, of one of these histories."""
        requirement = question.requirement
        ids, history = requirement.write_ids, question.asked.history
        assert ids is not None
        for write in self._database.writes:
            if write.table_id != requirement.table_id or write.history not in histories:
                continue
            if write.history != history:
                continue
            state = self._database.now.txns.get(write.txn)
            if self._database.now.history != write.history or state is TxnState.ABORTED:
                continue
            if ids.is_valid(write.write_id):
                if write.event > applied:
                    return f"it lacks {write}"
            elif write.event <= applied and not requirement.accept_newer:
                return f"{write} isn't the reader's to see"
        return None

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
            f"  answer:  {answered.value!r}",
        ]
        for moment in (allowed or [])[:4]:
            lines.append(
                f"  event {moment.event} of history {moment.history}, since "
                f"{moment.committed_s:.6f} s: {question.truth(moment)!r}"
            )
        return WrongAnswerError("\n".join(lines))
