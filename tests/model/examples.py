"""Examples: steps of a toy deployment, the common ones often."""

from random import Random
from typing import Final

from hypothesis import settings
from hypothesis import strategies as st

from tests.model.choices import NUMBERS
from tests.model.world import STEPS, Step

WEIGHTS: Final = {
    "publish": 14,
    "progress": 2,
    "load": 4,
    "load_behind": 3,
    "begin_load": 4,
    "go_on_load": 20,
    "tell_open": 2,
    "read_again": 2,
    "tell_again": 4,
    "repeat": 2,
    "create_table": 5,
    "drop_table": 2,
    "rename_table": 2,
    "alter_table": 6,
    "create_database": 2,
    "add_partitions": 6,
    "alter_partition": 5,
    "alter_partitions": 5,
    "alter_renamed": 2,
    "drop_partitions": 3,
    "update_statistics": 5,
    "add_constraint": 2,
    "begin": 5,
    "allocate": 2,
    "end": 6,
}
"""Of all other steps: 1."""

BEGINNING: Final = (
    Step("create_database"),
    Step("create_database", (1,)),
    Step("create_table"),
    Step("create_table", (2, 1)),
)

ONE_TABLE: Final = (
    Step("create_database"),
    Step("create_table"),
    Step("add_partitions", (0, 0, 2)),
    Step("update_statistics"),
    Step("clean_log"),
    Step("alter_table"),
    Step("publish", (0, 3)),
)
"""A table that is older than what is left of the log, so that only a load can tell it."""

_ELSEWHERE: Final = {
    "create_database",
    "alter_database",
    "drop_database",
    "create_function",
    "drop_function",
    "restore",
    "clean_log",
    "set_lists",
    "pause",
}
_DISTURBING: Final = {"pause", "restore", "set_lists", "clean_log"}
_numbers = st.lists(st.integers(0, NUMBERS - 1), max_size=6).map(tuple)


def names(*, one_table: bool) -> list[str]:
    """The names of steps, each as often as it counts."""
    return [
        name
        for name in STEPS
        for _ in range(WEIGHTS.get(name, 1))
        if not (one_table and name in _ELSEWHERE)
    ]


def _steps(
    beginning: tuple[Step, ...], names: list[str], count_max: int
) -> st.SearchStrategy[list[Step]]:
    step = st.builds(Step, st.sampled_from(names), _numbers)
    more = st.lists(step, min_size=count_max // 2, max_size=count_max)
    return more.map(lambda steps: [*beginning, *steps])


def steps(count_max: int) -> st.SearchStrategy[list[Step]]:
    """What happens to two databases and their tables from the beginning, or to an old table."""
    return _steps(BEGINNING, names(one_table=False), count_max) | _steps(
        ONE_TABLE, names(one_table=True), count_max
    )


def example_count(usual: int) -> int:
    """How many examples a property of this model tries: fewer for `make mutants`, which runs them
    for each mutant that all quick tests have passed."""
    return usual // 8 if settings.get_current_profile_name() == "mutants" else usual


def calm_steps(random: Random, count: int) -> list[Step]:
    """Random steps that leave most tables in the cache."""
    calm = [name for name in STEPS if name not in _DISTURBING]
    return [
        Step(random.choice(calm), tuple(random.randrange(100) for _ in range(8)))
        for _ in range(count)
    ]
