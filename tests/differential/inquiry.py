"""The questions of a run."""

from collections.abc import Iterator, Mapping
from random import Random
from typing import Final

from tests.differential import http_questions
from tests.differential.contents import Contents, Place
from tests.differential.names import Names
from tests.differential.question_parts import KnownTable
from tests.differential.questions import Questions
from tests.differential.steps import Question

TABLE_QUESTIONS: Final = 25
"""The questions about a table before another one is chosen."""
_HTTP_EVERY: Final = 12
_KNOWN_SHARE: Final = 0.95


class Inquiry:
    """Chooses tables, methods and arguments at random."""

    def __init__(self, random: Random, names: Names, contents: Contents) -> None:
        self._random = random
        self._thrift = Questions(random, names)
        self._contents = contents

    def questions(self, tables: Mapping[Place, KnownTable], count: int) -> Iterator[Question]:
        """So many questions about some of these tables, or about what doesn't exist."""
        random, places = self._random, sorted(tables)
        about: KnownTable | None = None
        for number in range(count):
            if places and number % TABLE_QUESTIONS == 0:
                about = self._contents.with_ids(tables[random.choice(places)])
            if about is not None and random.randrange(_HTTP_EVERY) == 0:
                yield random.choice([*http_questions.questions(about)])
                continue
            method = random.choice(self._thrift.methods)
            yield self._thrift.ask(method, about if random.random() < _KNOWN_SHARE else None)
