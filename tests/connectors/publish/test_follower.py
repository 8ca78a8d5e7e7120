import pytest

from connectors.publish import follower, headers
from connectors.publish.follower import Follower
from connectors.publish.headers import Headers, RecordHeaders, RecordKind
from connectors.publish.published_history import PublishedEvent
from connectors.publish.tails import Tails
from state.topic import Topic


class Message:
    def __init__(self, written: Headers | None) -> None:
        self.written = written

    def headers(self) -> Headers | None:
        return self.written


class Arrived:
    """A reader to which messages have come."""

    def __init__(self, *messages: Message) -> None:
        self.messages = messages

    def begin(self, _: object) -> None:
        pass

    def arrived(self) -> tuple[Message, ...]:
        return self.messages


def test_what_others_write_is_followed_and_what_is_not_ours_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arrived = Arrived(
        Message(None),
        Message(headers.write(RecordHeaders(RecordKind.CHANGE, 2, 7, "", b"h"))),
        Message([("kind", b"nonsense")]),
        Message(headers.write(RecordHeaders(RecordKind.RESET, 3, 5))),
    )
    monkeypatch.setattr(follower, "PartitionsReader", lambda *_: arrived)
    tails = Tails(2, (4,), PublishedEvent(4, None), (0,), (None,))
    following = Follower(Topic("nowhere", "events", 1), tails)
    following.catch_up()
    assert (following.epoch, following.furthest) == (3, PublishedEvent(7, b"h"))
