"""What operators see of orders; with a stack, see `tests.metatide.worker.test_shards`."""

from itertools import pairwise
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from metatide.cli import root
from metatide.cli.admin import _alike, _deaf

SHARDS = st.lists(
    st.builds(
        lambda paused, lists: {"paused": paused, "whitelist": lists, "blacklist": []},
        st.booleans(),
        st.sampled_from(([], ["db.*"])),
    ),
    max_size=12,
)


@pytest.mark.parametrize("what", ["warm", "refresh", "drop"])
def test_a_pattern_is_no_table(what: str) -> None:
    done = CliRunner().invoke(root, ["admin", what, "sales.orders", "sales.*"])
    assert done.exit_code == 2
    assert "sales.* is not a table" in done.output


def test_a_shard_that_nobody_can_read_obeys_no_order() -> None:
    def state(number: int, paused: bool) -> dict[str, Any]:
        return {"shard": number, "paused": paused}

    def deaf(*states: dict[str, Any]) -> list[int]:
        return _deaf(states, 3, lambda shard: bool(shard["paused"]))

    assert deaf() == [0, 1, 2]
    assert deaf(state(0, True), state(2, True)) == [1]
    assert deaf(state(0, True), state(1, False), state(2, True)) == [1]
    assert deaf(state(0, True), state(1, True), state(2, True)) == []


@given(SHARDS, st.sets(st.integers(0, 11)))
def test_shards_are_shown_together_where_they_follow_each_other_and_are_alike(
    states: list[dict[str, Any]], away: set[int]
) -> None:
    shards = [
        {"shard": number, **state} for number, state in enumerate(states) if number not in away
    ]
    groups = [*_alike(shards)]
    assert [shard for group in groups for shard in group] == shards
    for group in groups:
        numbers = [shard["shard"] for shard in group]
        assert numbers == [*range(numbers[0], numbers[-1] + 1)]
        assert all({**shard, "shard": 0} == {**group[0], "shard": 0} for shard in group)
    for previous, next_ in pairwise(groups):
        follows = previous[-1]["shard"] + 1 == next_[0]["shard"]
        assert not (follows and {**previous[0], "shard": 0} == {**next_[0], "shard": 0})
