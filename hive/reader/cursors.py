"""Cursors of psycopg that need a round trip less than its own."""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Final, Self

import psycopg

FETCHED_ROWS: Final = 5_000
"""How many rows of a long answer are in memory at a time."""


class LastAnswer(psycopg.Cursor[Any]):
    """Shows the answer of the last statement of several, where psycopg shows that of the first.

    SQLAlchemy looks at the answer that is shown.
    """

    def execute(self, *arguments: Any, **options: Any) -> Self:
        super().execute(*arguments, **options)
        while self.nextset():
            pass
        return self


class LongAnswer(psycopg.Cursor[Any]):
    """Takes a long answer from the wire as its rows are fetched. To declare a cursor of the server,
    fetch from it and close it would take five round trips.

    - Until all rows are fetched or the cursor is closed, the connection is taken: whoever used
      it, even to roll back, would wait without end.
    - An answer without rows has no description either, so SQLAlchemy takes it for none.
    """

    def __init__(self, connection: psycopg.Connection[Any], **options: Any) -> None:
        super().__init__(connection, row_factory=options["row_factory"])
        self._streamed: Iterator[Any] = iter(())
        self._rows = self._streamed

    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        self._streamed = self.stream(query, params, size=FETCHED_ROWS)
        # The first row brings errors and the description.
        self._rows = chain(list(islice(self._streamed, 1)), self._streamed)
        return self

    def fetchone(self) -> Any:
        return next(self._rows, None)

    def fetchmany(self, size: int = 0) -> list[Any]:
        return list(islice(self._rows, size or self.arraysize))

    def fetchall(self) -> list[Any]:
        return list(self._rows)

    def close(self) -> None:
        close = getattr(self._streamed, "close", None)
        if close is not None:
            close()
        super().close()
