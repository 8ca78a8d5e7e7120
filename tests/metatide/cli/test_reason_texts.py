"""That every reason has its sentences."""

from metatide.cli.reason_texts import COLD, REASONS, why_cold
from query_api.reasons import Reason
from state.loads import Cold, Doubt


def test_every_reason_has_a_meaning() -> None:
    assert {*REASONS} == {*Reason}
    assert {*COLD} == {*Cold, *Doubt} - {Doubt.NONE}


def test_a_detail_is_told_by_its_last_word() -> None:
    assert why_cold("never_loaded") == COLD[Cold.NEVER_LOADED]
    assert why_cold("doubt: renamed") == COLD[Doubt.RENAMED]
    assert why_cold("something new") == "something new"
