"""Which loads may end."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple, cast

import pytest
from sqlalchemy.exc import SQLAlchemyError

from connectors.loads import end_gate
from connectors.loads.end_gate import EndGate
from connectors.log.last_event import LastEvent
from connectors.publish.watermark import Watermark
from hive.errors import SourceError, StoppedError
from hive.reader.snapshot import DatabaseSnapshot


class Moment(NamedTuple):
    """What a snapshot shows of the log."""

    position: int
    marks: Mapping[int, int]


@pytest.fixture(autouse=True)
def _marks(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_event(snapshot: Any, event: int) -> LastEvent:
        mark = cast("Moment", snapshot).marks.get(event, 0)
        return LastEvent(event, b"%d" % event, mark)

    monkeypatch.setattr(end_gate, "read_event", read_event)
    monkeypatch.setattr(
        end_gate, "read_last_event", lambda snapshot: read_event(snapshot, snapshot.position)
    )


def nothing_asked() -> AbstractContextManager[DatabaseSnapshot]:
    raise AssertionError("the database is asked")


def passes(shown: Moment, watermark: Watermark, later: Moment | None = None) -> None:
    """Lets a load end whose snapshot showed this; the database shows what is `later`."""

    @contextmanager
    def open_snapshot() -> Iterator[DatabaseSnapshot]:
        assert later is not None, "the database is asked"
        with nullcontext(cast("DatabaseSnapshot", later)) as snapshot:
            yield snapshot

    gate = EndGate(watermark, 0, [1], open_snapshot, lambda: True)
    gate.see(cast("DatabaseSnapshot", shown))
    watermark.rise(0, [0, max(watermark.event(0, [1]), shown.position)])
    gate.wait()


def test_the_rows_that_were_published_decide() -> None:
    watermark = Watermark()
    watermark.rise(0, [0, 7], {7: 70})
    passes(Moment(7, {7: 70}), watermark)
    with pytest.raises(SourceError, match="lost event 7"):
        passes(Moment(7, {7: 71}), watermark)


def test_a_database_that_is_left_behind_is_found_out_by_what_it_had_seen() -> None:
    """Such as a former primary, which still answers on an open connection."""
    watermark = Watermark()
    watermark.rise(0, [0, 5], {5: 50})
    gate = EndGate(watermark, 0, [1], nothing_asked, lambda: True)
    watermark.rise(0, [0, 9], {6: 60, 7: 70, 8: 80, 9: 90})
    gate.see(cast("DatabaseSnapshot", Moment(6, {6: 60})))
    gate.wait()
    gate.see(cast("DatabaseSnapshot", Moment(6, {6: 61})))
    with pytest.raises(SourceError, match="lost event 6"):
        gate.wait()


def test_a_snapshot_of_less_than_was_published_before_it_is_refused() -> None:
    """A replica, or a former primary, may not know what was deleted since."""
    watermark = Watermark()
    watermark.rise(0, [0, 9], {8: 80, 9: 90})
    passes(Moment(9, {9: 90}), watermark)
    with pytest.raises(SourceError, match="come to event 8 only, but event 9 was published"):
        passes(Moment(8, {8: 80}), watermark)


def test_the_database_decides_where_no_mark_is_known() -> None:
    passes(Moment(7, {7: 70}), Watermark(), Moment(8, {7: 70}))
    with pytest.raises(SourceError, match="lost event 7"):
        passes(Moment(7, {7: 70}), Watermark(), Moment(8, {7: 71}))


def test_a_load_does_not_wait_for_an_event_that_the_database_has_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody may write another for long."""
    monkeypatch.setattr(end_gate, "LOOK_S", 0.01)
    watermark = Watermark()
    watermark.rise(0, [0, 6])
    moments = iter([Moment(7, {7: 70}), None, Moment(6, {})])

    @contextmanager
    def open_snapshot() -> Iterator[DatabaseSnapshot]:
        moment = next(moments)
        if moment is None:
            raise SQLAlchemyError("the database is away")
        yield cast("DatabaseSnapshot", moment)

    gate = EndGate(watermark, 0, [1], open_snapshot, lambda: True)
    gate.see(cast("DatabaseSnapshot", Moment(7, {7: 70})))
    with pytest.raises(SourceError, match="lost event 7"):
        gate.wait()
    assert not list(moments)


def test_a_load_of_a_connector_that_ends_is_not_ended() -> None:
    gate = EndGate(Watermark(), 0, [1], nothing_asked, lambda: False)
    gate.see(cast("DatabaseSnapshot", Moment(7, {7: 70})))
    with pytest.raises(StoppedError, match="isn't ended any more"):
        gate.wait()


def test_rows_that_the_cleaner_has_deleted_are_no_other_history() -> None:
    watermark = Watermark()
    watermark.rise(0, [0, 7], {7: 70})
    passes(Moment(7, {}), watermark)


def test_what_was_published_before_is_not_asked_for() -> None:
    watermark = Watermark()
    watermark.rise(0, [0, 7])
    passes(Moment(7, {7: 70}), watermark)


def test_the_row_of_the_last_event_is_told_unless_brokers_have_it() -> None:
    """Where a topic is new, brokers don't have what this connector has published."""
    watermark = Watermark()
    watermark.rise(0, [0, 7])
    gate = EndGate(watermark, 0, [1], nothing_asked, lambda: True)
    shown = [cast("DatabaseSnapshot", Moment(event, {})) for event in (7, 8)]
    assert [gate.see(moment).hash for moment in shown] == [None, b"8"]
    watermark.rise(0, [0, 7], {7: 70})
    assert gate.see(shown[0]).hash == b"7"
