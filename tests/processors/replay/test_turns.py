"""Threads take turns."""

from threading import Event, Lock, Thread

import pytest

from processors.replay.turns import Turn


def test_a_thread_has_its_turn_while_it_gets_on() -> None:
    lock = Lock()
    with Turn(lock, 7) as turn:
        assert lock.locked()
        for offset, has_turn in ((8, True), (8, False), (8, False), (9, True), (10, True)):
            turn.reach(offset)
            assert lock.locked() == has_turn
    assert not lock.locked()


@pytest.mark.parametrize("offset", [7, 8])
def test_an_error_ends_a_turn_that_is_given_away_or_not(offset: int) -> None:
    lock = Lock()

    def fail() -> None:
        with Turn(lock, 7) as turn:
            turn.reach(offset)
            raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        fail()
    assert not lock.locked()


def test_who_has_given_way_waits_for_the_others() -> None:
    lock, others_turn, went_on = Lock(), Event(), Event()

    def wait_for_brokers() -> None:
        with Turn(lock, 7) as turn:
            turn.reach(7)
            assert others_turn.wait(10)
            turn.reach(8)
            went_on.set()

    thread = Thread(target=wait_for_brokers)
    thread.start()
    with Turn(lock, 0):
        others_turn.set()
        assert not went_on.wait(0.1)
    thread.join(10)
    assert went_on.is_set()
