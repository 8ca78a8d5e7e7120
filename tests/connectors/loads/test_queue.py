"""What comes first, what shares a snapshot, and what an ask is answered by."""

import threading
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.loads.plan import BATCH_PARTITIONS_MAX, Planned
from connectors.loads.queue import ANSWERS_S, ASKED_AT_ONCE, Queue
from hive.names import table_name
from state.records import Scope, ScopeKind


def scope(number: int) -> Scope:
    return Scope(ScopeKind.TABLE, table_name(None, "db", f"t{number}"))


def queue(*partitions: int) -> Queue:
    made = Queue()
    made.plan(Planned(scope(number), count) for number, count in enumerate(partitions))
    return made


def test_what_was_asked_for_comes_first_and_only_once() -> None:
    due = queue(1, 1, 1)
    assert due.ask(scope(2), 5)
    assert due.take(0) == [scope(2)]
    assert due.take(0) == [scope(0), scope(1)]
    assert due.take(0) == []


def test_a_load_since_then_answers_an_ask() -> None:
    due = queue()
    assert due.ask(scope(0), 5)
    due.done(due.take(0), 7)
    assert not due.ask(scope(0), 7)
    assert due.ask(scope(0), 8)


def test_after_a_while_a_load_answers_no_ask_any_more() -> None:
    now_s = 100.0
    due = Queue(lambda: now_s)
    due.ask(scope(0), 5)
    due.done(due.take(0), 7)
    now_s += ANSWERS_S - 1
    assert not due.ask(scope(0), 7)
    now_s += 1
    assert due.ask(scope(0), 7)


def test_loads_that_end_before_the_event_they_were_asked_for_rest() -> None:
    now_s, loads = 100.0, 0
    due = Queue(lambda: now_s)
    for _ in range(3_600):
        due.ask(scope(0), 1 << 61)
        loads += due.done(due.take(0), 7)
        now_s += 1
    assert 10 < loads < 20


def test_a_load_in_vain_is_told_and_only_its_scope_rests() -> None:
    due = queue()
    assert due.ask(scope(0), 9)
    assert due.done(due.take(0), 7) == 1
    assert due.rests(scope(0), 9)
    assert not due.ask(scope(0), 9)
    assert not due.rests(scope(0), 7)
    assert due.ask(scope(1), 9)


def test_a_scope_rests_no_longer_than_its_cause() -> None:
    due = queue()
    due.ask(scope(0), 9)
    due.done(due.take(0), 7)
    due.ask(scope(1), 8)
    # Another load shows that the log has come so far.
    assert due.done(due.take(0), 9) == 0
    assert due.ask(scope(0), 9)
    assert due.done(due.take(0), 9) == 0
    assert not due.rests(scope(0), 10)
    due.ask(scope(0), 20)
    due.done(due.take(0), 9)
    assert due.rests(scope(0), 20)
    due.forget()
    assert due.ask(scope(0), 20)


def test_what_was_forgotten_is_loaded_when_it_is_asked_for() -> None:
    due = queue()
    for number in (0, 1):
        due.ask(scope(number), 5)
    due.done(due.take(0), 7)
    due.forget_scope(scope(0))
    assert due.ask(scope(0), 5)
    assert not due.ask(scope(1), 5)
    due.forget()
    assert due.ask(scope(1), 5)


@pytest.mark.parametrize("forget", [Queue.forget, partial(Queue.forget_scope, scope=scope(0))])
def test_a_load_that_was_forgotten_while_it_ran_answers_nothing(
    forget: Callable[[Queue], None],
) -> None:
    due = queue()
    assert due.ask(scope(0), 5)
    running = due.take(0)
    forget(due)
    assert due.ask(scope(0), 0)
    due.done(running, 7)
    assert due.take(0) == [scope(0)]
    due.done([scope(0)], 7)
    assert not due.ask(scope(0), 7)


def test_an_ask_waits_for_the_load_that_runs_and_may_be_answered_by_it() -> None:
    due = queue()
    due.ask(scope(0), 5)
    running = due.take(0)
    assert due.ask(scope(0), 6)
    assert due.ask(scope(1), 6)
    assert due.take(0) == [scope(1)]
    due.done(running, 6)
    assert due.take(0) == []
    due.done([scope(1)], 5)
    assert due.ask(scope(1), 6)
    assert due.take(0) == [scope(1)]


def test_what_failed_is_due_again() -> None:
    due = queue(1)
    due.done(due.take(0), None)
    assert not due.empty()
    assert due.take(0) == [scope(0)]


def test_a_new_epoch_makes_requests_count_again() -> None:
    due = queue(1)
    due.done(due.take(0), 9)
    due.forget()
    assert due.ask(scope(0), 3)


def test_a_waiting_thread_wakes_up_when_something_is_asked_for() -> None:
    due, taken = queue(), list[Scope]()
    thread = threading.Thread(target=lambda: taken.extend(due.take(60)))
    thread.start()
    due.ask(scope(0), 1)
    thread.join()
    assert taken == [scope(0)]


def test_a_waiting_thread_wakes_up_when_an_epoch_begins() -> None:
    due, ended = queue(), threading.Event()

    def wait() -> None:
        due.take(3600)
        ended.set()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    while not ended.wait(0.01):
        due.forget()
    thread.join()


def test_a_waiting_thread_wakes_up_when_the_queue_is_closed() -> None:
    due, taken = queue(), list[Scope]()
    thread = threading.Thread(target=lambda: taken.extend(due.take(60)))
    thread.start()
    due.close()
    thread.join()
    assert taken == []
    due.ask(scope(0), 1)
    assert due.take(60) == []


@given(st.lists(st.integers(0, 2 * BATCH_PARTITIONS_MAX), max_size=30))
def test_batches_hold_all_in_order_and_no_more_than_they_should(counts: list[int]) -> None:
    due = queue(*counts)
    taken = []
    while batch := due.take(0):
        sizes = [counts[int(one.name.table[1:])] for one in batch]
        assert len(batch) == 1 or sum(sizes) <= BATCH_PARTITIONS_MAX
        taken += batch
        due.done(batch, 1)
    assert taken == [scope(number) for number in range(len(counts))]
    assert due.empty()


def test_few_requests_share_a_snapshot() -> None:
    due = queue()
    for number in range(ASKED_AT_ONCE + 1):
        due.ask(scope(number), 1)
    assert len(due.take(0)) == ASKED_AT_ONCE
    assert len(due.take(0)) == 1


def test_what_makes_a_batch_fail_is_found_and_given_up_and_the_rest_is_loaded() -> None:
    due, bad = queue(*[1] * 5), scope(3)
    loaded: list[Scope] = []
    due.ask(scope(4), 9)
    given_up = []
    while batch := due.take(0):
        if bad in batch:
            given_up.append(due.refused(batch))
        else:
            due.done(batch, 10)
            loaded += batch
    assert given_up == [None, bad]
    assert set(loaded) == {scope(number) for number in (0, 1, 2, 4)}
    assert due.empty()


def test_what_was_given_up_rests_longer_and_longer_whatever_event_it_is_asked_for() -> None:
    now_s, tries = 100.0, 0
    due = Queue(lambda: now_s)
    for event in range(3_600):
        if due.ask(scope(0), event):
            assert due.refused(due.take(0)) == scope(0)
            tries += 1
        now_s += 1
    assert 10 < tries < 20
    due.forget_scope(scope(0))
    assert due.ask(scope(0), 0)


def test_what_is_planned_while_it_is_loaded_is_loaded_again_later() -> None:
    due = queue(1)
    running = due.take(0)
    due.plan([Planned(scope(0), 1)])
    assert due.take(0) == []
    due.done(running, 7)
    assert due.take(0) == [scope(0)]


def test_one_that_is_to_be_loaded_alone_ends_a_batch() -> None:
    due = queue(1, 1)
    assert due.refused(due.take(0)) is None
    due.plan([Planned(scope(2), 1)])
    assert [due.take(0) for _ in range(3)] == [[scope(0)], [scope(1)], [scope(2)]]
    due = queue(1, 1)
    refused = due.take(0)
    due.plan([Planned(scope(2), 1)])
    assert due.refused(refused) is None
    assert [due.take(0) for _ in range(3)] == [[scope(2)], [scope(0)], [scope(1)]]
