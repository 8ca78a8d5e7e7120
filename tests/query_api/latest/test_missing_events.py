"""How long the cache has lacked something, whatever clocks say."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from query_api.latest import missing_events
from query_api.latest.missing_events import LogStart, Missing, MissingAge

PAUSES = st.lists(st.tuples(st.floats(0, 100), st.integers(0, 3)), min_size=1, max_size=20)


@dataclass
class World:
    """A log, and reads of it that take no time."""

    skew_s: float
    now_s: float = 1000.0
    committed_s: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.age = MissingAge(lambda: self.now_s, lambda: 1e9 + self.now_s)

    def read(self, applied: int) -> Missing:
        current = len(self.committed_s)
        oldest = applied + 1 if applied < current else None
        written_s = None if oldest is None else 1e9 + self.committed_s[applied] + self.skew_s
        start = LogStart(current, oldest, None if written_s is None else round(written_s))
        return self.age.of(applied, start, self.now_s)


@given(PAUSES, st.integers(0, 5))
def test_a_right_clock_tells_the_age(steps: list[tuple[float, int]], applied: int) -> None:
    world = World(0.0)
    for pause_s, commits in steps:
        world.committed_s += [world.now_s] * commits
        world.now_s += pause_s
        missing = world.read(applied)
        assert missing.events == max(0, len(world.committed_s) - applied)
        if missing.events:
            assert abs(missing.age_s - (world.now_s - world.committed_s[applied])) <= 1
        else:
            assert missing.age_s == 0


@given(PAUSES, st.floats(-1e6, 1e6))
def test_a_wrong_clock_does_no_more_than_reads_leave_open(
    steps: list[tuple[float, int]], skew_s: float
) -> None:
    world = World(skew_s)
    world.read(0)
    before_s, shown_s = world.now_s, None
    for pause_s, commits in steps:
        world.committed_s += [world.now_s] * commits
        world.now_s += pause_s
        missing = world.read(0)
        if not missing.events:
            before_s = world.now_s
            continue
        shown_s = shown_s or world.now_s
        assert world.now_s - shown_s - 1e-6 <= missing.age_s <= world.now_s - before_s + 1e-6


def test_a_restored_database_has_other_events() -> None:
    world = World(-1e6)
    world.committed_s = [0.0] * 9
    world.read(9)
    world.now_s += 50
    del world.committed_s[5:]
    assert world.read(5) == Missing(5, 0, 0.0)
    world.now_s += 50
    world.committed_s.append(world.now_s)
    assert world.read(5).age_s <= 50


def test_reads_of_few_events_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of older ones, no more is known than that they came before."""
    monkeypatch.setattr(missing_events, "_KEPT", 2)
    world = World(-1e6)
    for _ in range(3):
        world.committed_s.append(world.now_s)
        world.now_s += 10
        world.read(len(world.committed_s))
    assert len(world.age._times) == 2
    assert world.read(0).age_s == 1e6 + 30
    assert world.read(2).age_s == 10
