"""Snapshots of a database that may be behind."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, cast

import pytest

from connectors.loads import replica
from connectors.loads.batch import Database
from connectors.loads.replica import open_reached
from hive.errors import SourceError


class Moment(NamedTuple):
    position: int


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets the positions of the snapshots that are opened, one after the other."""

    def show(*positions: int) -> None:
        following = iter(positions)

        @contextmanager
        def open_snapshot(*_: object) -> Iterator[Moment]:
            yield Moment(next(following))

        monkeypatch.setattr(replica, "open_snapshot", open_snapshot)
        monkeypatch.setattr(replica, "_LOOK_S", 0)

    return show


DATABASE = cast("Database", ())


def test_it_waits_for_the_event(show: Callable[..., None]) -> None:
    show(5, 6, 8, 9)
    with open_reached(DATABASE, 7) as snapshot:
        assert snapshot.position == 8


def test_it_does_not_wait_for_ever(
    show: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "WAIT_S", 0)
    show(6, 7)
    with (
        pytest.raises(SourceError, match="come to event 6 only, but event 7 was published"),
        open_reached(DATABASE, 7),
    ):
        pass
