"""The logs of a whole stack, from its start over a fault to its end, against docs/operate.md."""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.metatide.page import filled
from tests.support import local_http
from tests.support.stacks import Stack

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="stacks")]

ROOT = Path(__file__).parents[3]
_ROW = re.compile(r"^\| (`[^|]+`) \|", re.MULTILINE)
_MESSAGE = re.compile(r"`([^`]+)`")


def documented(chapter: str = "") -> set[str]:
    """The messages in the tables of docs, or of one chapter."""
    text = (ROOT / "docs" / "operate.md").read_text()
    if chapter:
        text = text.partition(f"\n### {chapter}\n")[2].partition("\n#")[0]
    else:
        text += (ROOT / "docs" / "connectors.md").read_text()
    return {message for row in _ROW.findall(text) for message in _MESSAGE.findall(row)}


def lines(stack: Stack, name: str) -> list[dict[str, Any]]:
    path = stack.folder / "logs" / f"{name}.log"
    return [json.loads(line) for line in path.read_text().splitlines()]


def seconds(line: dict[str, Any]) -> float:
    return datetime.fromisoformat(line["timestamp"]).timestamp()


def read(here: str, db: str, table: str) -> str:
    answer = local_http.get(f"{here}/v1/databases/{db}/tables/{table}", timeout=30)
    return str(answer.headers.get("Metatide-Source", ""))


def test_a_stacks_life_and_a_fault_are_told_as_they_are_documented(kafka_broker: str) -> None:
    with filled("--kafka", kafka_broker, METATIDE_KAFKA_TOPIC="stack_logs") as here:
        stack, url = here.stack, here.worker
        stack.until(lambda: read(url, here.db, here.tables[0]) == "cache")
        stack.kill("postgres")
        stack.until(lambda: read(url, here.db, here.tables[1]) == "cache")
        assert stack.end() == 0
        connect, worker = lines(stack, "connect"), lines(stack, "worker-1")
    said = [line for log in (connect, worker) for line in log if line["level"] != "debug"]
    assert {line["event"] for line in said} - documented() == set()
    assert documented("The life of a connector") - {line["event"] for line in connect} == set()
    assert documented("The life of a worker") - {line["event"] for line in worker} == set()
    for log in (connect, worker):
        last: dict[tuple[object, ...], float] = {}
        for line in log:
            reason = line["event"], line.get("shard"), line.get("reason")
            assert seconds(line) - last.get(reason, 0) > 0.99, line
            last[reason] = seconds(line)
