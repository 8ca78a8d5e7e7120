"""Which ages are late, and what is said of them."""

from msgspec.structs import replace

from metatide.health import Health, Heard, Level, Thresholds, combined, judge
from query_api.latest.missing_events import Missing
from state.records.heartbeats import Heartbeat

LIMITS = Thresholds(amber_s=10, red_s=30)
WELL = Heartbeat(name="c1", host="here", address="here:1", position=7, sequence=7)
NOTHING = Missing(7, 0, 0.0)


def judged(*heard: Heard, missing: Missing | None = NOTHING, unheard_s: float = 0.0) -> Health:
    return judge(heard, missing, LIMITS, unheard_s=unheard_s)


def test_all_is_well_while_connectors_are_heard_and_nothing_is_old() -> None:
    health = judged(Heard(WELL, 1.0), missing=Missing(9, 2, 9.9))
    assert (health.level, health.problems) == (Level.GREEN, [])


def test_the_age_of_what_is_missing_counts_and_not_its_number() -> None:
    for age_s, level in ((10, Level.GREEN), (11, Level.AMBER), (31, Level.RED)):
        health = judged(Heard(WELL, 0.0), missing=Missing(1_000_000, 999_993, age_s))
        assert health.level is level
    assert health.problems == ["999993 events missing for 31 s"]


def test_a_silent_connector_is_red_only_if_no_other_publishes() -> None:
    frozen = Heard(WELL, 50.0)
    assert judged(frozen).level is Level.RED
    assert judged(frozen).problems == ["c1 on here silent for 50 s"]
    other = Heard(replace(WELL, name="c2"), 0.5)
    health = judged(frozen, other)
    assert health.level is Level.AMBER
    assert [each.level for each in health.connectors] == [Level.RED, Level.GREEN]


def test_one_that_beats_but_reads_nothing_says_what_it_waits_for() -> None:
    waiting = replace(WELL, polled_s_ago=40.0, fault="the database is away")
    health = judged(Heard(waiting, 1.0))
    assert health.level is Level.RED
    assert health.problems == ["c1 on here hasn't read the log for 41 s: the database is away"]


def test_nobody_is_missed_after_a_while() -> None:
    for unheard_s, level in ((0, Level.GREEN), (11, Level.AMBER), (31, Level.RED)):
        assert judged(unheard_s=unheard_s).level is level


def test_what_is_not_known_is_late_where_it_should_be_known() -> None:
    heard = [Heard(WELL, 0.0)]
    assert judge(heard, None, LIMITS, unheard_s=0).level is Level.GREEN
    health = judge(heard, None, LIMITS, unheard_s=0, unmeasured="the database is away")
    assert (health.level, health.problems) == (Level.AMBER, ["the database is away"])


def test_each_connector_is_as_it_was_last_heard_by_any_worker() -> None:
    cut_off = judged(Heard(WELL, 40.0), Heard(replace(WELL, name="c2"), 40.0))
    health = combined([judged(Heard(WELL, 0.5)), cut_off])
    assert health.level is Level.RED
    assert [(each.name, each.silent_s) for each in health.connectors] == [("c1", 0.5), ("c2", 40)]
