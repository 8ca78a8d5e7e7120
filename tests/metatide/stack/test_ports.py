"""The ports of a stack."""

from pathlib import Path

import pytest

from metatide.stack import ports
from metatide.stack.ports import Ports


def test_a_port_is_of_one_service_and_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = iter([20_001, 20_001, 20_002, 20_003])
    monkeypatch.setattr("random.choice", lambda _: next(draws))
    busy = {20_002}
    monkeypatch.setattr(ports, "is_free", lambda port: port not in busy)
    path = tmp_path / "ports.json"
    taken = Ports(path)
    assert (taken.take("kafka"), taken.take("postgres")) == (20_001, 20_003)
    again = Ports(path)
    assert (again.take("postgres"), again.take("kafka")) == (20_003, 20_001)


def test_where_no_port_is_free_it_gives_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "is_free", lambda _: False)
    with pytest.raises(AssertionError, match="is free"):
        Ports(tmp_path / "ports.json").take("kafka")
