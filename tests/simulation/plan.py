"""What happens in a run besides what production code does by itself: steps from a seed."""

from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple

import msgspec

from tests.simulation import knobs

NUMBERS: Final = 6
_LULL_S: Final = 400.0
"""How long a lull is on average."""
_WRITES: Final = {
    "alter_table": 6,
    "add_partition": 6,
    "alter_partition": 5,
    "rename_partition": 2,
    "drop_partition": 2,
    "create_table": 5,
    "drop_table": 2,
    "rename_table": 2,
    "create_database": 2,
    "alter_database": 1,
    "drop_database": 1,
    "begin": 3,
    "allocate": 4,
    "end": 3,
}
_READS: Final = {"latest": 8, "any": 3, "at_least": 4, "write_ids": 3, "within": 2}
FAULTS: Final = {
    "kill_connector": 4,
    "kill_connectors": 2,
    "kill_loading": 2,
    "freeze_connector": 3,
    "kill_worker": 4,
    "kill_metastore": 2,
    "cut_off": 2,
    "freeze_worker": 3,
    "lose_store": 1,
    "tear_store": 1,
    "fill_disk": 1,
    "brokers_down": 2,
    "brokers_slow": 2,
    "leader_away": 2,
    "retention": 1,
    "recreate_topic": 1,
    "unclean_leader": 1,
    "database_down": 2,
    "upgrade": 1,
    "clean_log": 2,
    "restore": 2,
    "drift": 2,
    "jump": 1,
    "forget_table": 4,
    "rebuild": 2,
}


class Step(NamedTuple):
    """One thing that happens at a time."""

    at_s: float
    kind: str
    """`write`, `read` or `fault`."""
    name: str
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.at_s:10.3f} s  {self.kind:<6} {self.name} {' '.join(map(str, self.numbers))}"


class Plan(msgspec.Struct, frozen=True):
    """A run: a seed for everything that isn't planned, and the steps."""

    seed: str
    connectors: int
    workers: int
    shards: int
    seconds: float
    steps: tuple[Step, ...]
    images: bool = False
    """Whether workers make images, and begin with them."""
    thrift: str | None = None
    """The default consistency over Thrift, if most clients ask over the network."""
    metastores_cache_s: float = 0.0
    """How old a metastore's own cache may be, from which it answers reads."""
    knobs: dict[str, float] = {}
    """Which intervals differ from those of production."""

    def only(self, steps: Sequence[Step]) -> "Plan":
        return msgspec.structs.replace(self, steps=tuple(steps))


def make_plan(seed: str, *, seconds: float = 120.0, faults: bool = True) -> Plan:
    """The plan of a seed: stretches of much and of little work, and faults. In half of the runs
    there are lulls between them."""
    random = Random(f"{seed}/plan")
    steps = [
        Step(0.5, "write", "create_database", (0,)),
        Step(0.6, "write", "create_database", (0,)),
    ]
    at_s = 1.0
    while at_s < seconds:
        per_s = random.choice((0.3, 1.0, 1.0, 4.0))
        until_s = min(seconds, at_s + random.uniform(2.0, 15.0))
        # In some stretches all is about one table, so that things meet.
        focus = random.choice((None, random.randrange(1000)))
        while at_s < until_s:
            at_s += random.expovariate(per_s)
            kind = random.choice(("write", "write", "read", "read", "read"))
            names = _WRITES if kind == "write" else _READS
            step = _step(random, min(at_s, seconds), kind, names)
            if focus is not None and kind == "write":
                step = step._replace(numbers=(focus, *step.numbers[1:]))
            steps.append(step)
            if focus is not None and faults and random.random() < 0.03:
                forget = _step(random, step.at_s, "fault", {"forget_table": 1})
                steps.append(forget._replace(numbers=(focus, *forget.numbers[1:])))
            if kind == "write" and random.random() < 0.4:
                # Another writer changes the same table at that moment.
                rival = _step(random, step.at_s, "write", _WRITES)
                steps.append(rival._replace(numbers=(step.numbers[0], *rival.numbers[1:])))
    if faults:
        # Some runs have one kind of fault often, so that it meets itself.
        likely = random.sample(sorted(FAULTS), random.randint(1, len(FAULTS)))
        weights = {name: FAULTS[name] for name in likely}
        at_s = random.uniform(2.0, 20.0)
        gap_s = random.choice((3.0, 8.0, 20.0))
        while at_s < seconds:
            steps.append(_step(random, at_s, "fault", weights))
            at_s += random.expovariate(1 / gap_s)
    plan = Plan(
        seed,
        random.choice((1, 2, 2)),
        random.choice((1, 2, 3)),
        random.choice((1, 2, 3)),
        seconds,
        tuple(sorted(steps)),
        random.choice((False, True)),
        random.choice((None, None, "latest", "latest", "within", "any")),
        random.choice((0.0, 0.0, 0.0, 2.0)),
        knobs.turned(random),
    )
    return _with_lulls(plan, random)


def _with_lulls(plan: Plan, random: Random) -> Plan:
    """The plan with minutes in between in which nothing is done, as at night: what is due after a
    long time comes due, and what follows meets it."""
    lulls = [
        (random.uniform(0.0, plan.seconds), random.expovariate(1 / _LULL_S))
        for _ in range(random.choice((0, 0, 0, 1, 2, 4)))
    ]

    def delayed(at_s: float) -> float:
        return round(at_s + sum(lull_s for from_s, lull_s in lulls if from_s < at_s), 6)

    return msgspec.structs.replace(
        plan,
        seconds=delayed(plan.seconds),
        steps=tuple(step._replace(at_s=delayed(step.at_s)) for step in plan.steps),
    )


def _step(random: Random, at_s: float, kind: str, names: dict[str, int]) -> Step:
    name = random.choices(list(names), list(names.values()))[0]
    numbers = tuple(random.randrange(1000) for _ in range(NUMBERS))
    return Step(round(at_s, 6), kind, name, numbers)
