"""Which questions count; over the network, see `tests.hostile.test_peers`."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import binary, lists

from query_api import peers
from query_api.peers import CLOCKS_DIFFER_S_MAX, Peers, Question, SecretFile

NOW_S = 1_000_000


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = NOW_S
        monkeypatch.setattr(peers, "time", lambda: self.now_s + 0.5)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def mine(tmp_path: Path, clock: Clock) -> Peers:
    path = tmp_path / "secret"
    path.write_text("5" * 64)
    return Peers(SecretFile(path), "here:1")


def test_a_question_counts_once(mine: Peers, clock: Clock) -> None:
    for _ in range(2):
        question = mine.question("here:1", [])
        assert question is not None
        assert [mine.is_first(question), mine.is_first(question)] == [True, False]
    assert not mine.is_first(Question(NOW_S - 1, b"before it can remember", b""))


@pytest.mark.parametrize("step_s", [-3 * 3600, 3 * 3600])
def test_a_question_counts_once_the_clock_has_been_set(
    mine: Peers, clock: Clock, step_s: int
) -> None:
    clock.now_s += step_s
    question = mine.question("here:1", [])
    assert question is not None
    assert mine.is_first(question)
    assert not mine.is_first(Question(clock.now_s - 60, b"before it can remember", b""))


@given(lists(binary(max_size=3), max_size=4), lists(binary(max_size=3), max_size=4))
def test_no_bytes_move_between_the_parts_of_a_proof(
    tmp_path_factory: pytest.TempPathFactory, first: list[bytes], second: list[bytes]
) -> None:
    path = tmp_path_factory.getbasetemp() / "secret of parts"
    path.write_text("5" * 64)
    peer = Peers(SecretFile(path))
    assert (peer.answer(b"nonce", first) == peer.answer(b"nonce", second)) is (first == second)


def test_what_is_remembered_is_bounded(
    mine: Peers, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "NONCES_MAX", 2)

    def is_first(nonce: bytes) -> bool:
        return mine.is_first(Question(clock.now_s, nonce, b""))

    assert [is_first(nonce) for nonce in (b"1", b"2", b"3")] == [True, True, False]
    clock.now_s += CLOCKS_DIFFER_S_MAX - 1
    assert not is_first(b"3")
    clock.now_s += 1
    assert is_first(b"3")


def test_few_are_distrusted_at_a_time(mine: Peers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "DISTRUSTED_MAX", 1)
    for address in ("there:1", "there:2"):
        assert mine.may_ask(address)
        mine.distrust(address, "http")
        assert not mine.may_ask(address)
    assert mine.may_ask("there:1")
