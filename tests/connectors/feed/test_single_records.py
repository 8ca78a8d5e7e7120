import pytest

from connectors.feed import single_records
from connectors.feed.single_records import record_at
from hive.errors import InputError
from state.topic import Topic
from state.topic.client import Bounds


class Compacted:
    """A reader of a partition from which brokers have deleted records between others."""

    def __init__(self, _: Topic) -> None:
        pass

    def __enter__(self) -> "Compacted":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def read(self, *_: object) -> tuple[()]:
        return ()


def test_an_offset_without_a_record_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single_records, "topic_bounds", lambda _: {0: Bounds(0, 9)})
    monkeypatch.setattr(single_records, "PartitionsReader", Compacted)
    with pytest.raises(InputError, match=r"^shard 0 of events has no record at offset 5$"):
        record_at(Topic("nowhere", "events", 1), 0, 5)
