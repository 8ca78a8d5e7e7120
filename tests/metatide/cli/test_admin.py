"""What operators see of orders; with a stack, see `tests.metatide.worker.test_shards`."""

from itertools import pairwise
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from metatide.cli import admin, root
from metatide.cli.admin import Workers, _alike, _deaf
from state.records.numbers import NATURAL_MAX

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


class Watched(Workers):
    """Workers that show the next state at each look and take no order."""

    def __init__(self, states: list[dict[str, Any]]) -> None:
        self._states = states
        self._count = 1

    def order(self, what: str, **body: Any) -> None: ...

    def shards(self) -> list[dict[str, Any]]:
        return [{"shard": 0, **self._states.pop(0)}]


def test_an_order_counts_as_obeyed_once_a_later_version_shows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admin, "LOOK_S", 0)

    def state(version: int, *, paused: bool) -> dict[str, Any]:
        return {"pause_version": version, "paused": paused}

    before, resumed, obeyed = state(7, paused=True), state(8, paused=False), state(9, paused=True)
    states = [before, before, resumed, obeyed, obeyed]
    Watched(states).decide("pause", "pause_version", {"paused": True})
    assert states == [obeyed]
    states = [last := state(NATURAL_MAX, paused=True), last]
    Watched(states).decide("pause", "pause_version", {"paused": True})
    assert states == []


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
