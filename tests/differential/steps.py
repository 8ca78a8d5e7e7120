"""The steps of writers as data, which can be repeated, left out, and printed as Python."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.differential.names import Names


@dataclass(frozen=True)
class Step:
    """One call of a writer's method."""

    writer: str
    action: str
    given: Mapping[str, Any] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.given.items())
        yield f"{self.writer}.{self.action}({arguments})"

    def lanes(self) -> "tuple[tuple[Step, ...], ...]":
        return ((self,),)


@dataclass(frozen=True)
class HeldSteps:
    """Steps that all run their SQL before the first one commits; then they commit in turn."""

    steps: Sequence[Step]

    def lines(self) -> Iterator[str]:
        yield "with held_sequence():  # each in a thread, begun in this order"
        for step in self.steps:
            yield from (f"    {line}" for line in step.lines())


@dataclass(frozen=True)
class Race:
    """Steps of several writers that run at the same time."""

    lanes: Sequence[Sequence[Step]]

    def lines(self) -> Iterator[str]:
        for number, lane in enumerate(self.lanes, 1):
            yield f"with thread({number}):"
            for step in lane:
                yield from (f"    {line}" for line in step.lines())


@dataclass(frozen=True)
class Question:
    """A call of the interface, as bytes."""

    method: str
    given: bytes
    by_ids: tuple[str, str] | None = None
    """The table whose write ids the question contains: the full names of its database and of
    itself."""
    path: str | None = None
    """The path to ask over HTTP, if the question isn't for the endpoint's Thrift port."""

    def about(self, names: Names, others: Names) -> "Question":
        """The same question about objects of another run."""
        renamed_arguments = self.given.replace(names.prefix.encode(), others.prefix.encode())
        path = self.path and self.path.replace(names.prefix, others.prefix)
        by_ids = self.by_ids
        if by_ids is not None:
            db, table = (one.replace(names.prefix, others.prefix) for one in by_ids)
            by_ids = db, table
        return replace(self, given=renamed_arguments, path=path, by_ids=by_ids)


AnyStep = Step | HeldSteps | Race


def script(steps: Sequence[AnyStep]) -> str:
    return "\n".join(line for step in steps for line in step.lines())


def parts(step: AnyStep) -> list[AnyStep]:
    """The variants of a step with one part left out."""
    match step:
        case HeldSteps(steps) if len(steps) > 1:
            return [_held_steps([*steps[:at], *steps[at + 1 :]]) for at in range(len(steps))]
        case Race(lanes):
            alone: list[AnyStep] = [one for lane in lanes for one in lane]
            return [*alone, *(Race([*lanes[:at], *lanes[at + 1 :]]) for at in range(len(lanes)))]
    return []


def _held_steps(steps: Sequence[Step]) -> AnyStep:
    return steps[0] if len(steps) == 1 else HeldSteps(steps)
