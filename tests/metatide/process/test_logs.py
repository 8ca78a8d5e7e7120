"""What a process writes, in which form, and how often."""

import json
import sys
from collections.abc import Iterator

import pytest
import structlog

from metatide.config.schema import Log
from metatide.process import logs


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def test_a_traceback_shows_no_values(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(password: str) -> None:
        raise ValueError(f"{len(password)} characters")

    logs.configure(Log(format="console", level="warning"))
    log = structlog.get_logger()
    log.info("all is well")
    try:
        fail("".join(["hu", "sh"]))
    except ValueError:
        log.exception("it failed", shard=3)
    out, err = capsys.readouterr()
    assert out == ""
    assert "it failed" in err
    assert "shard=3" in err
    assert "in fail" in err
    assert "4 characters" in err
    assert "hush" not in err
    assert "all is well" not in err


def test_a_line_of_json_has_a_field_for_each_fact(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure()
    log = structlog.get_logger()
    log.info("a shard is live", shard=3, event_id=7, table="hive.ä.t")
    try:
        raise ValueError("hush")
    except ValueError as error:
        log.error("it failed", exc_info=error)
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert first.pop("timestamp").endswith("Z")
    assert first == {
        "event": "a shard is live",
        "level": "info",
        "shard": 3,
        "event_id": 7,
        "table": "hive.ä.t",
    }
    assert "ValueError: hush" in second["exception"]


def test_people_at_a_terminal_get_lines_for_people(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    logs.configure()
    structlog.get_logger().info("a shard is live", shard=3)
    assert "a shard is live" in capsys.readouterr().err.partition("shard=3")[0]


def test_the_same_reason_is_told_once_a_second() -> None:
    now = 100.0
    once = logs.OncePerSecond(lambda: now)

    def written(event: str, **fields: object) -> dict[str, object] | None:
        try:
            return dict(once(None, "info", {"event": event, **fields}))
        except structlog.DropEvent:
            return None

    assert written("a", shard=1) == {"event": "a", "shard": 1}
    assert written("a", shard=2, why="x") == {"event": "a", "shard": 2, "why": "x"}
    for why in ("x", "y"):
        now += 0.4
        assert written("a", shard=1, why=why) is None
    assert written("b") == {"event": "b"}
    assert (
        written("order", who="ann")
        == written("order", who="ann")
        == {
            "event": "order",
            "who": "ann",
        }
    )
    now += 0.4
    assert written("a", shard=1) == {"event": "a", "shard": 1, "left_out": 2}
    now += 1.0
    assert written("a", shard=1) == {"event": "a", "shard": 1}


def test_reasons_without_end_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_REASONS_MAX", 2)
    once = logs.OncePerSecond(lambda: 100.0)
    for event in ("a", "b", "c", "a"):
        assert once(None, "info", {"event": event}) == {"event": event}
    with pytest.raises(structlog.DropEvent):
        once(None, "info", {"event": "a"})
