"""One run: steps from a seed on names of its own, and questions after each."""

from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Sequence as ManyOf
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Final, NamedTuple

from tests.differential.comparison import Difference
from tests.differential.contents import Contents, Place
from tests.differential.inquiry import Inquiry
from tests.differential.names import Names
from tests.differential.question_parts import KnownTable
from tests.differential.schedule import Schedule
from tests.differential.sequence import Sequence
from tests.differential.step_runner import StepRunner
from tests.differential.steps import AnyStep, HeldSteps, Step
from tests.differential.survey import Survey, surveying
from tests.differential.world import Standing
from tests.differential.writers import writing
from tests.support.hive import hms_client

STEPS: Final = 50
QUESTIONS: Final = 200
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
        self.unlogged = 0
        """The number of runs that ended with a truncation that may lack its event."""
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
        survey: Survey,
        contents: Contents,
    ) -> None:
        self.names = names
        self.doing = doing
        self.survey = survey
        self.contents = contents

    def go(self, random: Random, steps: int = STEPS) -> Found | None:
        """Runs until an answer differs, or to the end."""
        # How many questions a race leaves time for must not change the steps after it.
        asking = Inquiry(Random(random.random()), self.names, self.contents)
        schedule = Schedule(random)
        done: list[AnyStep] = []
        waiting = schedule.opening()
        tables: Mapping[Place, KnownTable] = {}
        while len(done) < steps or waiting:
            if not waiting:
                schedule.databases = self.contents.databases()
                schedule.tables = tables
                waiting = schedule.next()
            step = waiting.pop(0)
            differences: list[Difference] = []

            def meanwhile(
                # While the sequence is held, nobody commits.
                quiet: bool = isinstance(step, HeldSteps),
                found: list[Difference] = differences,
                tables: Mapping[Place, KnownTable] = tables,
            ) -> None:
                if not found:
                    questions = list(asking.questions(tables, 2))
                    ask = self.survey.ask if quiet else self.survey.ask_meanwhile
                    found += ask(questions)

            self.doing.do(step, meanwhile)
            done.append(step)
            if self.doing.unlogged:
                return None
            tables = self.contents.tables()
            if not differences:
                differences += self.survey.ask(list(asking.questions(tables, QUESTIONS)))
            if differences:
                return Found(self.names, tuple(done), differences[0])
        return None

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
        client = stack.enter_context(hms_client.connect(addresses[0]))
        doing = StepRunner(writers, sequence)
        survey = stack.enter_context(surveying(standing, sequence))
        try:
            yield Run(names, doing, survey, Contents(client, names))
        finally:
            counts.runs += 1
            counts.outcomes += doing.outcomes
            for comparison in survey.comparisons:
                counts.equal += comparison.equal
                counts.moving += comparison.moving
                counts.unknown += comparison.unknown
