"""What a session makes of what others have published, and of gaps."""

import dataclasses
from types import SimpleNamespace
from typing import cast

import pytest

from connectors.log.gaps import LogGap
from connectors.log.source import Source
from connectors.metrics import Metrics
from connectors.publish import publish_session
from connectors.publish.publish_session import PublishSession
from connectors.publish.published_history import PublishedEvent
from connectors.publish.sender import Sender
from connectors.publish.tails import Tails
from connectors.publish.watermark import Watermark
from connectors.settings import Pace
from state.topic import Topic

TAILS = Tails(2, (5, 6), PublishedEvent(9, b"h"), (50, 60), (40, 50), trace=2)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> PublishSession:
    """A session that began at `TAILS`, without brokers or a database."""
    publisher = SimpleNamespace(epoch=TAILS.epoch, uptos=TAILS.upto, skip=lambda _: None)
    monkeypatch.setattr(publish_session, "Publisher", lambda *_: publisher)
    monkeypatch.setattr(publish_session, "Follower", lambda *_: None)
    return PublishSession(
        cast(Source, None),
        Topic("nowhere", "events", 2),
        cast(Sender, None),
        TAILS,
        pace=Pace(),
        metrics=Metrics(),
        watermark=Watermark(),
    )


@pytest.mark.parametrize(
    ("changed", "goes_on"),
    [
        pytest.param({"ends": (51, 61)}, True, id="more records"),
        pytest.param({"upto": (7, 7)}, True, id="more events, by another connector"),
        pytest.param({"epoch": 3, "trace": 3}, False, id="an epoch that it doesn't know"),
        pytest.param({"trace": 3}, False, id="a trace of one"),
        pytest.param({"upto": (5, 5)}, False, id="records that brokers have lost"),
        pytest.param({"upto": (5, None)}, False, id="all records of a shard lost"),
    ],
)
def test_a_session_goes_on_unless_the_topic_is_another(
    session: PublishSession, changed: dict[str, object], goes_on: bool
) -> None:
    tails = dataclasses.replace(TAILS, **changed)  # type: ignore[arg-type]
    assert session.compare(tails) is goes_on
    assert session.history.ends == (tails.ends if goes_on else TAILS.ends)


def test_a_gap_before_what_others_have_published_leaves_theirs_the_furthest(
    session: PublishSession,
) -> None:
    session._skip(LogGap(6, 7, "nobody knows"))
    assert (session.position, session.history.furthest) == (7, TAILS.furthest)
    session._skip(LogGap(8, 12, "nobody knows"))
    assert (session.position, session.history.furthest) == (12, PublishedEvent(12, None))
