"""Statements that run through Metatide and without it, and whose answers are compared."""

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tests.engines.statements import ADMINISTRATOR, Statement
from tests.support.engines.sql import Answer, Session

OpenSession = Callable[[str, str, str], Session]
"""Opens a session with a catalog and a schema, for a user."""
WAYS: Final = ("through", "without")
"""Of equal length, which types of columns show."""
_FLUID: Final = (
    # What differs from way to way, or from statement to statement.
    (re.compile(r"_(?:through|without)"), "_WAY"),
    (re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}"), "UUID"),
    (re.compile(r"\d{8}_\d{6}_\d{5}_\w{5}"), "QUERY"),
    (re.compile(r"\d{12,}"), "NUMBER"),
)


class BothWays:
    """A schema of each way's own.

    What writes runs in each schema by its own way. What reads runs in each schema by both ways, so
    that each reads what the other has just written.
    """

    def __init__(
        self, open_session: OpenSession, connector: str, corpus: str, folder: Path
    ) -> None:
        self._open_session = open_session
        self._connector = connector
        self._corpus = corpus
        self._folder = folder
        self._sessions: dict[tuple[str, str, str], Session] = {}

    def schema(self, way: str) -> str:
        return f"{self._corpus}_{way}"

    def create_schemas(self, creation: str) -> None:
        """Runs a statement that creates a schema, for that of each way."""
        for way in WAYS:
            session = self._open_session(f"hive_{way}", "default", ADMINISTRATOR)
            answer = session.ask(self._filled(creation, way, way))
            assert answer.error is None, answer.error

    def differences(self, statements: Iterator[Statement]) -> list[str]:
        """What went wrong with each statement that went wrong."""
        with ThreadPoolExecutor(len(WAYS) ** 2) as pool:
            return [
                problem
                for statement in statements
                if (problem := self._problem(statement, pool)) is not None
            ]

    def _problem(self, statement: Statement, pool: ThreadPoolExecutor) -> str | None:
        in_both = statement.reads or statement.sets
        pairs = [(way, of) for way in WAYS for of in WAYS if way == of or in_both]
        answers = list(pool.map(lambda pair: self._answer(statement, *pair), pairs))
        shown = [_comparable(answer, statement.is_ordered) for answer in answers]
        if len(set(shown)) > 1:
            each = "\n".join(
                f"  {way} in the schema of {of}: {text}"
                for (way, of), text in zip(pairs, shown, strict=True)
            )
            return f"{statement}\n{each}"
        if (answers[0].error is not None) != statement.fails:
            return f"{statement}\n  everywhere: {shown[0]}"
        return None

    def _answer(self, statement: Statement, way: str, of: str) -> Answer:
        key = way, of, statement.user
        if key not in self._sessions:
            self._sessions[key] = self._open_session(
                self._catalog(way), self.schema(of), statement.user
            )
        return self._sessions[key].ask(self._filled(statement.text, way, of))

    def _catalog(self, way: str) -> str:
        return f"{self._connector}_{way}"

    def _filled(self, text: str, way: str, of: str) -> str:
        names = {
            "catalog": self._catalog(way),
            "schema": self.schema(of),
            "folder": str(self._folder),
        }
        return re.sub(r"{(\w+)}", lambda name: names[name[1]], text)


def _comparable(answer: Answer, is_ordered: bool) -> str:
    rows = answer.rows if is_ordered else sorted(answer.rows)
    text = answer.error or json.dumps([answer.columns, rows, answer.changed])
    for pattern, instead in _FLUID:
        text = pattern.sub(instead, text)
    return text
