"""Decisions, against the rules spelled out a second time and every small write-id list."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.write_ids.lists import WriteIdList, write_id_list
from hive.write_ids.text import parse_short
from query_api.consistency import Consistency
from query_api.facts import Current, Facts
from query_api.positions import Position
from query_api.reasons import SERVING, Reason
from query_api.requirement import Requirement
from query_api.resolver.decision import Verdict, decide

REACHED = Position(1, 10)
TABLE_ID = 7


def small_lists() -> list[WriteIdList]:
    """Every list up to write id 3."""
    return [
        write_id_list(
            hwm,
            [number for number, state in enumerate(states, 1) if state == "open"],
            [number for number, state in enumerate(states, 1) if state == "aborted"],
        )
        for hwm in range(4)
        for states in product(["committed", "open", "aborted"], repeat=hwm)
    ]


def committed(ids: WriteIdList, left_out: set[int]) -> set[int]:
    return set(range(1, ids.hwm + 1)) - set(ids.open) - set(ids.aborted) - left_out


def checking(requested: WriteIdList, *, accept_newer: bool = False) -> Requirement:
    return Requirement(
        Consistency.WRITE_IDS,
        must_be_current=False,
        write_ids=requested,
        table_id=TABLE_ID,
        accept_newer=accept_newer,
    )


def managed(cached: WriteIdList | None, *, pending: bool = False, table_id: int = 7) -> Facts:
    return Facts(REACHED, managed=True, table_id=table_id, pending=pending, write_ids=cached)


def test_every_pair_of_small_lists_is_judged_by_its_committed_ids() -> None:
    for requested, cached, accept_newer in product(small_lists(), small_lists(), [False, True]):
        aborted = {*requested.aborted, *cached.aborted}
        wanted, have = committed(requested, aborted), committed(cached, aborted)
        may_serve = wanted <= have if accept_newer else wanted == have
        verdict = decide(managed(cached), checking(requested, accept_newer=accept_newer), None)
        assert verdict.serves == may_serve, (requested, cached, accept_newer)


@pytest.mark.parametrize(
    ("requested", "cached", "reason"),
    [
        ("[12:7,8,12]", "[11:7,8]", Reason.FRESH),
        ("[12:7,8,12]", "[12:7,12]", Reason.AHEAD),
        ("[13:7,8,13]", "[12:7,8]", Reason.FRESH),
        ("[13:7,8,12]", "[12:7,8]", Reason.BEHIND),
        ("[13:7,8,12]", "[12:7]", Reason.BEHIND),
    ],
)
def test_the_worked_examples(requested: str, cached: str, reason: Reason) -> None:
    verdict = decide(managed(parse_short(cached)), checking(parse_short(requested)), None)
    assert verdict.reason is reason


def test_what_hinders_a_check_is_named_in_this_order() -> None:
    ids = write_id_list(3)
    need = checking(ids)
    assert decide(managed(ids, table_id=8), need, None).reason is Reason.TABLE_ID
    assert decide(managed(None, table_id=8), need, None).reason is Reason.TABLE_ID
    assert decide(managed(None, pending=True), need, None).reason is Reason.COLD
    assert decide(managed(ids, pending=True), need, None).reason is Reason.PENDING_WRITE
    assert decide(managed(write_id_list(2)), need, None).reason is Reason.BEHIND


def test_without_a_list_only_tables_without_write_ids_are_served() -> None:
    need = Requirement(Consistency.WRITE_IDS, must_be_current=False)
    assert decide(managed(write_id_list(3)), need, None).reason is Reason.NO_LIST
    assert decide(Facts(REACHED), need, None).reason is Reason.FRESH


def test_with_a_list_no_table_without_write_ids_is_served() -> None:
    none = write_id_list(0)
    external = Facts(REACHED, table_id=TABLE_ID, write_ids=none)
    assert decide(external, checking(none), None).reason is Reason.TABLE_ID
    assert decide(external, checking(none, accept_newer=True), None).reason is Reason.TABLE_ID


POSITIONS = st.builds(Position, st.integers(0, 2), st.integers(8, 12))
REQUIREMENTS = st.builds(
    Requirement,
    st.sampled_from(
        [Consistency.ANY, Consistency.AT_LEAST, Consistency.WITHIN, Consistency.LATEST]
    ),
    must_be_current=st.booleans(),
    min_position=st.none() | POSITIONS,
    max_age_ms=st.sampled_from([0, 100]),
)
FACTS = st.builds(
    Facts,
    POSITIONS,
    refused=st.none() | st.sampled_from([Reason.COLD, Reason.PAUSED, Reason.REWOUND]),
    silent=st.booleans(),
    managed=st.booleans(),
    pending=st.booleans(),
)
BLOCKED = st.sampled_from([None, Reason.BEHIND, Reason.GAP])
CURRENTS = st.none() | st.builds(Current, st.integers(8, 12), blocked=BLOCKED)


@given(FACTS, REQUIREMENTS, CURRENTS)
def test_what_is_served_fulfils_all_that_was_asked(
    facts: Facts, need: Requirement, current: Current | None
) -> None:
    verdict = decide(facts, need, current)
    complete = facts.reached
    if current is not None and current.blocked is None:
        complete = complete._replace(event=max(complete.event, current.event))
    is_latest = current is not None and complete.event >= current.event
    asks_any = (
        need.consistency is Consistency.ANY
        and not need.must_be_current
        and need.min_position is None
    )
    may_serve = (
        facts.refused is None
        and (not facts.silent or asks_any)
        and (is_latest or not need.must_be_current)
        and (need.min_position is None or complete >= need.min_position)
    )
    assert verdict.serves == may_serve
    assert verdict.serves == (verdict.reason in SERVING)
    if may_serve:
        assert verdict.position == complete


@given(FACTS, REQUIREMENTS, CURRENTS)
def test_waiting_is_for_what_was_asked_and_lies_ahead(
    facts: Facts, need: Requirement, current: Current | None
) -> None:
    wait_for = decide(facts, need, current).wait_for
    if wait_for is not None:
        assert wait_for > facts.reached
        assert wait_for.event == (current.event if current and need.must_be_current else -1) or (
            wait_for == need.min_position
        )


def test_a_shard_that_lags_behind_is_waited_for() -> None:
    latest = Requirement(Consistency.LATEST, must_be_current=True)
    blocked = decide(Facts(REACHED), latest, Current(12, Reason.GAP))
    assert blocked == Verdict(Reason.GAP, REACHED, REACHED._replace(event=12))
    token = Position(2, 1)
    behind = decide(Facts(REACHED), Requirement(Consistency.ANY, False, min_position=token), None)
    assert behind == Verdict(Reason.BEHIND, REACHED, token)
