"""Prints, at the end of a run, who answered the calls that each engine made."""

from collections.abc import Callable

import pytest

from tests.support.summary import Say
from tests.support.thrift_answers import ThriftAnswers

Record = Callable[[str, ThriftAnswers], None]


@pytest.fixture
def record_answers(say: Say) -> Record:
    """Notes the answers that some work got, to be printed."""

    def record(work: str, answers: ThriftAnswers) -> None:
        say("who answered the engines' calls", f"{work}: " + "\n".join(answers.lines()))

    return record
