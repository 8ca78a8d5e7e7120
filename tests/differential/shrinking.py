"""Reduces the steps before a difference to the shortest script that still shows it."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final, NamedTuple

from thriftpy2.utils import deserialize, serialize

from tests.differential.comparison import Difference, shown
from tests.differential.contents import Contents
from tests.differential.names import DATABASES, TABLES, Names
from tests.differential.run import Counts, Found, Run, running
from tests.differential.steps import AnyStep, HeldSteps, Question, Race, Step, parts, script
from tests.differential.world import Standing
from tests.query_api.thrift.methods.wire import struct_of
from tests.support.delta_debugging import fewest

SETTLE_S: Final = 0.15
"""The time in which the loads that a doubt requests arrive."""
_WHOLE: Final = rb"%s(?![a-z0-9_])"
TRIES: Final = 3
"""The attempts to repeat a difference: concurrent writers don't always come in the same order."""


class Story(NamedTuple):
    """The report on a difference."""

    seed: str
    found: Found
    steps: tuple[AnyStep, ...]
    repeated: Difference | None
    """The difference that the shrunk script shows; None if the steps don't repeat it."""
    names: Names

    def __str__(self) -> str:
        difference = self.repeated or self.found.difference
        names = self.names if self.repeated else self.found.names
        lines = [
            f"seed {self.seed}: after {len(self.found.steps)} steps, shrunk to {len(self.steps)}"
            if self.repeated
            else f"seed {self.seed}: after {len(self.found.steps)} steps, which don't repeat it",
            script(self.steps),
            f"question: {shown(difference.question, names)}",
            *(
                names.short(f"  {one.path}: endpoint {one.ours!r}, metastore {one.theirs!r}")
                for one in difference.places
            ),
        ]
        if not difference.lasting:
            lines.append("  a moment later both said the same")
        return "\n".join(lines)


class Shrinking:
    """Repeats fewer and fewer steps, each time in a run with names of its own."""

    def __init__(self, standing: Standing, found: Found, deadline: float) -> None:
        self._standing = standing
        self._failed_run = found
        self._deadline = deadline
        self._last: tuple[Names, Difference] | None = None

    def story(self, seed: str) -> Story:
        steps: Sequence[AnyStep] = self._failed_run.steps
        if not any(self._shows(steps) for _ in range(TRIES)):
            return Story(seed, self._failed_run, tuple(steps), None, self._failed_run.names)
        names = self._failed_run.names
        about = relevant(steps, mentioned(self._failed_run.difference.question, names))
        if 0 < len(about) < len(steps) and self._shows(about):
            steps = about
        steps = tuple(shrunk(list(steps), self._shows))
        # The last difference may be that of another repetition.
        self._shows(steps)
        assert self._last is not None
        names, difference = self._last
        return Story(seed, self._failed_run, steps, difference, names)

    def _shows(self, steps: Sequence[AnyStep]) -> bool:
        if time.monotonic() > self._deadline:
            return False
        try:
            with running(self._standing, Counts()) as run:
                difference = self._repeat(run, steps)
                run.end()
        except TimeoutError:
            return False
        if difference is None or difference.kind != self._failed_run.difference.kind:
            return False
        self._last = run.names, difference
        return True

    def _repeat(self, run: Run, steps: Sequence[AnyStep]) -> Difference | None:
        """The question is asked after each step, too, because asking warms cold objects."""
        old = self._failed_run.difference.question
        for step in steps:
            run.doing.do(step)
            run.survey.ask([self._again(old, run)])
            time.sleep(SETTLE_S / 10)
        deadline = time.monotonic() + SETTLE_S * 4
        while True:
            differences = run.survey.ask([self._again(old, run)])
            if differences or time.monotonic() > deadline:
                return differences[0] if differences else None
            time.sleep(SETTLE_S / 3)

    def _again(self, old: Question, run: Run) -> Question:
        """The question about the objects of this run."""
        names = self._failed_run.names
        moved = old.about(names, run.names)
        return moved if old.by_ids is None else with_ids(moved, run.contents)


def with_ids(question: Question, contents: Contents) -> Question:
    """The question with the current write-id list and table id."""
    assert question.by_ids is not None
    table = contents.of(*question.by_ids)
    if table is None:
        return question
    arguments = deserialize(struct_of(f"{question.method}_args")(), question.given)
    [request] = [one for one in vars(arguments).values() if one is not None]
    request.validWriteIdList, request.id = table.ids, table.id
    return replace(question, given=serialize(arguments))


def mentioned(question: Question, names: Names) -> set[str]:
    """The short names in a question."""
    said = question.given + (question.path or "").encode()
    return {
        name
        for name in (*DATABASES, *TABLES)
        if re.search(_WHOLE % names.full(name).encode(), said)
    }


def relevant(steps: Sequence[AnyStep], names: set[str]) -> list[AnyStep]:
    """The steps about these databases and tables, without overlapping steps about others."""

    def is_about(step: Step) -> bool:
        said = {step.given.get(one) for one in ("db", "table", "to_db", "to")} - {None}
        return said <= names or not said

    relevant_steps: list[AnyStep] = []
    for step in steps:
        match step:
            case Step():
                relevant_steps += [step] if is_about(step) else []
            case HeldSteps(several):
                about_it = [one for one in several if is_about(one)]
                relevant_steps += [HeldSteps(about_it)] if len(about_it) > 1 else about_it
            case Race(lanes):
                of_each = [[one for one in lane if is_about(one)] for lane in lanes]
                together = [lane for lane in of_each if lane]
                relevant_steps += [Race(together)] if len(together) > 1 else [*chain(*together)]
    return relevant_steps


def shrunk(steps: list[AnyStep], shows: Callable[[list[AnyStep]], bool]) -> list[AnyStep]:
    """Steps from which neither one nor a part of one can be left out, found by delta debugging."""
    steps = fewest(steps, shows)
    for at in reversed(range(len(steps))):
        for smaller in parts(steps[at]):
            fewer = [*steps[:at], smaller, *steps[at + 1 :]]
            if shows(fewer):
                steps = fewer
                break
    return steps
