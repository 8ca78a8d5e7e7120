"""The real logs fold to what the real metastore answered at the end."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hive.errors import InputError
from metatide.cli import root
from tests.metatide.cli.metastore_answers import COLD_KEYS, WITHOUT_EVENTS, stored, unordered

DATA = Path(__file__).parents[2] / "data" / "hive-4.2.0"
LOGS = ["every-event-gzip", "every-event-json", "four-writers", "one-writer"]

REASONS = {
    "doubt: rewritten",
    "doubt: renamed",
    "doubt: conflict",
    "doubt: truncated",
    "doubt: merged",
    "doubt: engine_unsaid",
    "never_loaded",
    "no load and no first write id yet",
    "the table was renamed",
    "the table or its database was dropped",
    "allocated ids don't follow the last ones",
}


def fold(log: str, *options: str) -> dict[str, Any]:
    result = CliRunner().invoke(root, ["fold", str(DATA / log / "log.jsonl"), *options])
    assert result.exit_code == 0, result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


@pytest.mark.parametrize("log", LOGS)
def test_what_is_told_is_what_the_metastore_answered(log: str) -> None:
    answered = json.loads((DATA / log / "state.json").read_text())
    folded = fold(log)
    assert folded["event_id"] == answered["event_id"]
    for kind in answered.keys() - {"event_id"}:
        cold = folded["cold"].get(COLD_KEYS.get(kind, ""), {})
        expected = {
            name: value
            for name, value in answered[kind].items()
            if name not in cold and name not in WITHOUT_EVENTS.get(kind, ())
        }
        if kind == "constraints":
            by_table = {name: unordered(kinds) for name, kinds in folded[kind].items()}
            expected = {name: unordered(kinds) for name, kinds in expected.items()}
        else:
            by_table = folded[kind]
        if kind == "valid_write_ids":
            # A transaction may hold ids of a table that was never made: nobody asked for those.
            by_table = {name: ids for name, ids in by_table.items() if name in answered["tables"]}
        assert by_table == stored(expected), kind


@pytest.mark.parametrize("log", LOGS)
def test_what_is_cold_is_so_for_a_stated_reason(log: str) -> None:
    cold = fold(log)["cold"]
    reasons = {reason for names in cold.values() for reason in names.values()}
    assert reasons <= REASONS


def test_most_is_told() -> None:
    cold = fold("one-writer")["cold"]
    assert len(cold["tables"]) < 10
    assert len(cold["write_ids"]) < 5


def test_it_stops_where_it_is_told() -> None:
    assert fold("one-writer", "--until", "7")["event_id"] == 7


def test_a_line_that_is_no_row_is_named(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"EVENT_ID": 1}\n')
    result = CliRunner().invoke(root, ["fold", str(log)])
    assert result.exception is not None
    assert "line 1" in str(result.exception)


def test_events_in_another_order_are_refused(tmp_path: Path) -> None:
    first, second = (DATA / "one-writer" / "log.jsonl").read_text().splitlines()[:2]
    log = tmp_path / "log.jsonl"
    log.write_text(f"{second}\n{first}\n")
    result = CliRunner().invoke(root, ["fold", str(log)])
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == (
        f"{log}, line 2: event 1 comes after 2; export the log ORDER BY EVENT_ID"
    )


def test_an_event_that_cannot_be_read_costs_its_table_and_nothing_else(tmp_path: Path) -> None:
    lines = (DATA / "one-writer" / "log.jsonl").read_text().splitlines()
    at = next(n for n, line in enumerate(lines) if '"ADD_PARTITION"' in line)
    row = json.loads(lines[at])
    row["MESSAGE"] = row["MESSAGE"][:100]
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join([*lines[:at], json.dumps(row)]))
    result = CliRunner().invoke(root, ["fold", str(log)])
    assert result.exit_code == 0
    assert f"event {row['EVENT_ID']}" in result.stderr
    cold = json.loads(result.stdout)["cold"]
    assert cold["partitions"][f"{row['DB_NAME']}.{row['TBL_NAME']}"] == "doubt: undecodable"
