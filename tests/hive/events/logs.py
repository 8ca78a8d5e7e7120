"""The rows of the real logs in tests/data."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hive.events.row import NotificationRow, row_from_json

DATA = Path(__file__).parents[2] / "data" / "hive-4.2.0"
LOGS = ["every-event-json", "every-event-gzip", "one-writer", "four-writers"]


def rows(log: str) -> Iterator[dict[str, Any]]:
    """The rows of one log as its file has them."""
    with (DATA / log / "log.jsonl").open() as lines:
        yield from map(json.loads, lines)


def notification_rows(log: str) -> Iterator[NotificationRow]:
    with (DATA / log / "log.jsonl").open("rb") as lines:
        yield from map(row_from_json, lines)


def state(log: str) -> dict[str, Any]:
    """What the metastore answered after the log."""
    answers: dict[str, Any] = json.loads((DATA / log / "state.json").read_text())
    return answers
