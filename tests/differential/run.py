"""One run: steps from a seed on names of its own, and questions after each."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Sequence as ManyOf
from contextlib import ExitStack, contextmanager
from functools import partial
from random import Random
from typing import Final, NamedTuple

import httpx

from tests.differential import http_questions
from tests.differential.comparison import Comparison, Difference
from tests.differential.contents import Contents, Place
from tests.differential.names import Names
from tests.differential.questions import Known, Questions
from tests.differential.schedule import Schedule
from tests.differential.sequence import Sequence
from tests.differential.step_runner import StepRunner
from tests.differential.steps import AnyStep, Held, Step
from tests.differential.world import Standing
from tests.differential.writers import writing
from tests.query_api.thrift.methods import wire
from tests.support import hms_client

STEPS: Final = 50
QUESTIONS: Final = 48
"""The number of questions after each step."""


class Found(NamedTuple):
    """A difference, and the steps before it."""

    names: Names
    steps: tuple[AnyStep, ...]
    difference: Difference


class Counts:
    """What a series of runs did, for its report."""

    def __init__(self) -> None:
        self.runs = 0
        self.stuck = 0
        """The number of runs in which the metastore stopped answering a writer."""
        self.equal: Counter[str] = Counter()
        self.moving: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()
        self.outcomes: Counter[tuple[str, str]] = Counter()

    @property
    def compared(self) -> int:
        return self.equal.total()


class Run:
    """Writers with names of their own, and questions to both sides."""

    def __init__(
        self,
        names: Names,
        doing: StepRunner,
        comparison: Comparison,
        contents: Contents,
    ) -> None:
        self.names = names
        self.doing = doing
        self.comparison = comparison
        self.contents = contents

    def go(self, random: Random, steps: int = STEPS) -> Found | None:
        """Runs until an answer differs, or to the end."""
        schedule, questions = Schedule(random), Questions(random, self.names)
        done: list[AnyStep] = []
        waiting = schedule.opening()
        tables: Mapping[Place, Known] = {}
        while len(done) < steps or waiting:
            if not waiting:
                schedule.databases = self.contents.databases()
                schedule.tables = tables
                waiting = schedule.next()
            step = waiting.pop(0)
            differences: list[Difference] = []
            ask = partial(self._ask, random, questions)

            def meanwhile(
                # While the sequence is held, nobody commits.
                quiet: bool = isinstance(step, Held),
                found: list[Difference] = differences,
                ask: Callable[..., Iterator[Difference]] = ask,
                tables: Mapping[Place, Known] = tables,
            ) -> None:
                if not found:
                    found += ask(tables, 2, quiet=quiet)

            self.doing.do(step, meanwhile)
            done.append(step)
            tables = self.contents.tables()
            if not differences:
                differences += ask(tables, QUESTIONS, quiet=True)
            if differences:
                return Found(self.names, tuple(done), differences[0])
        return None

    def _ask(
        self,
        random: Random,
        questions: Questions,
        tables: Mapping[Place, Known],
        count: int,
        *,
        quiet: bool,
    ) -> Iterator[Difference]:
        """Asks questions until one is answered differently; yields that difference."""
        places = sorted(tables)
        for _ in range(2):
            place = random.choice(places) if places else None
            of = None if place is None else self.contents.with_ids(tables[place])
            for _ in range(count // 2):
                method = random.choice(questions.methods)
                question = questions.ask(method, of if random.random() < 0.95 else None)
                difference = self.comparison.ask(question, quiet=quiet)
                if difference is not None:
                    yield difference
                    return
            if of is not None:
                [question] = random.sample([*http_questions.questions(of)], 1)
                difference = self.comparison.ask(question, quiet=quiet)
                if difference is not None:
                    yield difference
                    return

    def replay(self, steps: ManyOf[AnyStep]) -> None:
        """Repeats the steps of another run."""
        for step in steps:
            self.doing.do(step)

    def end(self) -> None:
        """Drops the databases of the run."""
        for db in ("a", "b", "c"):
            self.doing.do(Step("hive", "drop_database", {"db": db, "cascade": True}))


@contextmanager
def running(standing: Standing, counts: Counts) -> Iterator[Run]:
    """A run, whose counts are added to `counts` at the end."""
    addresses, names = standing.world.metastores.addresses, Names(standing.new_run())
    with ExitStack() as stack:
        sequence = Sequence(standing.world.metastores.database_url)
        stack.callback(sequence.close)
        writers = stack.enter_context(writing(addresses, names))
        endpoint = stack.enter_context(wire.connect(standing.thrift))
        # Writers that wait for the sequence occupy no connections of this metastore.
        metastore = stack.enter_context(wire.connect(addresses[-1]))
        client = stack.enter_context(hms_client.connect(addresses[0]))
        doing = StepRunner(writers, sequence)
        http = stack.enter_context(
            httpx.Client(base_url=standing.http, timeout=60, trust_env=False)
        )
        comparison = Comparison(endpoint, http, metastore, sequence)
        try:
            yield Run(names, doing, comparison, Contents(client, names))
        finally:
            counts.runs += 1
            counts.equal += comparison.equal
            counts.moving += comparison.moving
            counts.unknown += comparison.unknown
            counts.outcomes += doing.outcomes
