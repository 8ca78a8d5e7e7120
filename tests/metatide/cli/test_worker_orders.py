from typing import Any

import pytest

from hive.errors import MachineError
from metatide.cli import worker_orders
from metatide.cli.proved_workers import ProvedWorkers
from metatide.cli.worker_orders import Outcome, WorkerOrders, _lagging_shards
from state.records.numbers import NATURAL_MAX


class WatchedOrders(WorkerOrders):
    """Orders that no worker takes, and shards that show the next state at each look."""

    def __init__(self, states: list[dict[str, Any]]) -> None:
        self._workers = ProvedWorkers([])
        self._states = states
        self._count = 1

    def send(self, order: str, **body: Any) -> None: ...

    def shards(self) -> list[dict[str, Any]]:
        return [{"shard": 0, **self._states.pop(0)}]


def test_a_shard_that_nobody_can_read_has_applied_no_order() -> None:
    def state(number: int, paused: bool) -> dict[str, Any]:
        return {"shard": number, "paused": paused}

    def lagging(*states: dict[str, Any]) -> list[int]:
        return _lagging_shards(states, 3, lambda shard: bool(shard["paused"]))

    assert lagging() == [0, 1, 2]
    assert lagging(state(0, True), state(2, True)) == [1]
    assert lagging(state(0, True), state(1, False), state(2, True)) == [1]
    assert lagging(state(0, True), state(1, True), state(2, True)) == []


def test_a_shard_that_passes_nothing_is_said_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_orders, "APPLIED_S_MAX", 0)
    orders = WatchedOrders([])
    for shard in ({"shard": 1, "offset": 9}, {"shard": 0, "offset": 7}):
        monkeypatch.setattr(orders, "_statuses", lambda shard=shard: iter([shard]))
        with pytest.raises(
            MachineError, match=r"^shard 0 hasn't passed offset 7 within 0 s: is a "
        ):
            orders.wait_until_passed(0, 7)
    behind = {"shard": 0, "offset": 8, "phase": "catching_up"}
    monkeypatch.setattr(orders, "_statuses", lambda: iter([behind]))
    assert orders.wait_until_passed(0, 7) == behind


def test_several_tables_are_they(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = Outcome("it is", "they are")
    for tables in ((), ("sales.a",), ("sales.a", "sales.b")):
        outcome.show(tables)
    assert capsys.readouterr().err == "sales.a: it is\n2 tables: they are\n"


def test_an_order_counts_as_applied_once_a_later_version_shows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_orders, "LOOK_S", 0)

    def state(version: int, *, paused: bool) -> dict[str, Any]:
        return {"pause_version": version, "paused": paused}

    before, resumed, applied = state(7, paused=True), state(8, paused=False), state(9, paused=True)
    states = [before, before, resumed, applied, applied]
    WatchedOrders(states).send_and_wait("pause", "pause_version", {"paused": True})
    assert states == [applied]
    states = [last := state(NATURAL_MAX, paused=True), last]
    WatchedOrders(states).send_and_wait("pause", "pause_version", {"paused": True})
    assert states == []
