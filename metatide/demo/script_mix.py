"""The scripts that a workload runs, their frequencies, and how a writer interleaves them."""

from collections.abc import Callable, Iterator
from functools import partial

from metatide.demo import ddl, dml, tables
from metatide.demo.actor import Actor
from metatide.demo.dml import Script

ENDED = object()
SCRIPTS_PER_WRITER = 4
"""How many clients one writer serves at a time."""


def truncate_outside(actor: Actor) -> Script:
    """TRUNCATE of an external table."""
    return ddl.alter(actor, tables.truncate, managed_too=False)


MIX: dict[Callable[[Actor], Script], int] = {
    partial(dml.write, statement=dml.insert): 30,
    partial(dml.write, statement=dml.analyze): 6,
    partial(dml.write, statement=tables.set_parameter): 3,
    partial(dml.write, statement=ddl.change_columns): 3,
    partial(dml.write, statement=ddl.rename): 2,
    partial(dml.write, statement=ddl.add_or_drop_partitions): 6,
    partial(dml.write, statement=ddl.alter_partitions): 3,
    partial(dml.write, statement=tables.truncate): 1,
    dml.idle: 12,
    dml.join: 4,
    dml.stream: 3,
    dml.compact: 1,
    dml.reap: 2,
    ddl.create_table: 6,
    ddl.drop_table: 5,
    partial(ddl.alter, statement=ddl.add_or_drop_partitions, managed_too=False): 14,
    partial(ddl.alter, statement=ddl.alter_partitions, managed_too=False): 6,
    partial(ddl.alter, statement=tables.set_parameter): 6,
    partial(ddl.alter, statement=ddl.change_columns): 3,
    partial(ddl.alter, statement=ddl.rename): 2,
    partial(ddl.alter, statement=dml.analyze, managed_too=False): 5,
    partial(ddl.alter, statement=ddl.delete_statistics): 4,
    partial(ddl.alter, statement=ddl.change_constraints): 5,
    partial(ddl.alter, statement=ddl.fire, managed_too=False): 4,
    truncate_outside: 1,
    ddl.exchange: 1,
    ddl.change_database: 4,
    ddl.come_and_go: 1,
}
"""The scripts with their weights."""


def steps(actor: Actor) -> Iterator[None]:
    """Yields steps of the writer's scripts endlessly; when a script ends, another one starts."""
    scripts, weights = list(MIX), list(MIX.values())
    running: list[Script] = []
    while True:
        while len(running) < SCRIPTS_PER_WRITER:
            running.append(actor.rng.choices(scripts, weights)[0](actor))
        place = actor.rng.randrange(len(running))
        if next(running[place], ENDED) is ENDED:
            del running[place]
        yield
