"""Examples for Hypothesis: steps of a toy deployment, the common ones often."""

from typing import Final

from hypothesis import strategies as st

from tests.model.picks import NUMBERS
from tests.model.world import STEPS, Step

WEIGHTS: Final = {
    "publish": 14,
    "progress": 2,
    "load": 7,
    "begin_load": 3,
    "go_on_load": 14,
    "tell_open": 2,
    "repeat": 2,
    "create_table": 5,
    "drop_table": 2,
    "rename_table": 2,
    "alter_table": 6,
    "create_database": 2,
    "add_partitions": 6,
    "alter_partition": 5,
    "alter_partitions": 3,
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

_NAMES: Final = [name for name in STEPS for _ in range(WEIGHTS.get(name, 1))]
_numbers = st.lists(st.integers(0, NUMBERS - 1), max_size=6).map(tuple)
_step = st.builds(Step, st.sampled_from(_NAMES), _numbers)


def steps(count_max: int) -> st.SearchStrategy[list[Step]]:
    """A deployment of two databases and two tables, and what happens to it."""
    return st.lists(_step, min_size=count_max // 2, max_size=count_max).map(
        lambda more: [*BEGINNING, *more]
    )
