"""That every reason has its words."""

import pytest

from query_api.latest.log_end import ROWS_MAX
from query_api.reason_texts import COLD, REASONS, ReasonText, text_of, why_cold
from query_api.reasons import Reason
from state.loads import Cold, Doubt


def test_every_reason_has_its_words_in_the_order_of_reasons() -> None:
    assert [*REASONS] == [*Reason]
    assert [*COLD] == [*Cold, *(doubt for doubt in Doubt if doubt is not Doubt.NONE)]


@pytest.mark.parametrize("reason", Reason)
def test_words_are_clauses_of_a_sentence(reason: Reason) -> None:
    text = REASONS[reason]
    for clause in (text.short, text.meaning, text.remedy):
        assert clause
        assert not clause.endswith(".")
        assert clause.count("`") % 2 == 0


def test_a_gap_is_as_long_as_said() -> None:
    assert f"more than {ROWS_MAX:,} events" in REASONS[Reason.GAP].meaning


def test_a_detail_is_told_by_its_last_word() -> None:
    assert why_cold("never_loaded") == COLD[Cold.NEVER_LOADED]
    assert why_cold("doubt: renamed") == COLD[Doubt.RENAMED]
    assert why_cold("something new") == "something new"


def test_a_reason_of_a_newer_server_stands_for_itself() -> None:
    assert text_of("fresh") == REASONS[Reason.FRESH]
    assert text_of("novel") == ReasonText("novel", "novel")
