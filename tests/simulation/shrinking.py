"""Reduces a failing plan to the fewest steps, and tells what happens in it."""

import time
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final

import msgspec

from tests.simulation.plan import Plan, Step
from tests.simulation.settling import settle
from tests.simulation.world import Outcome, simulate
from tests.support.delta_debugging import fewest

CASES: Final = Path(__file__).with_name("cases")

Run = Callable[[Plan], Outcome]


def run(plan: Plan) -> Outcome:
    """A whole run: the plan, and what becomes of the deployment in peace."""
    return simulate(plan, settle)


def kind_of(error: BaseException | None) -> str | None:
    """What a failure is about, without its times and names."""
    if error is None:
        return None
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0][:50]}"


def shrunk(failed: Outcome, within_s: float) -> Outcome:
    """The outcome of the shortest plan found in this time of a core that fails in the same way."""
    kind, deadline = kind_of(failed.error), time.process_time() + within_s
    shortest = failed

    def fails(plan: Plan) -> bool:
        nonlocal shortest
        if time.process_time() > deadline:
            return False
        outcome = run(plan)
        if kind_of(outcome.error) != kind:
            return False
        shortest = outcome
        return True

    plan = failed.plan
    for connectors, workers, shards in product((1, 2), (1, 2, 3), (1, 2, 3)):
        if (connectors, workers, shards) >= (plan.connectors, plan.workers, plan.shards):
            continue
        fewer = msgspec.structs.replace(plan, connectors=connectors, workers=workers, shards=shards)
        if fails(fewer):
            plan = fewer
            break
    fewest(list(plan.steps), partial(_fails_with, plan, fails))
    return shortest


def _fails_with(plan: Plan, fails: Callable[[Plan], bool], steps: list[Step]) -> bool:
    return fails(plan.only(steps))


def story(outcome: Outcome) -> str:
    """What was planned, and who did what, when, until it failed."""
    plan = outcome.plan
    head = (
        f"seed {plan.seed}: {plan.connectors} connectors, {plan.workers} workers, "
        f"{plan.shards} shards"
        + "".join(f", {name} {value:g}" for name, value in plan.knobs.items())
    )
    return "\n".join(
        (head, "planned:", *map(str, plan.steps), "happened:", *outcome.story, str(outcome.error))
    )


def keep(outcome: Outcome, name: str, folder: Path = CASES) -> Path:
    """Keeps a plan as a case, which each run of the tests repeats."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(outcome.plan), indent=1) + b"\n")
    return path


def kept(path: Path) -> Plan:
    return msgspec.json.decode(path.read_bytes(), type=Plan)
