"""The workload's messages against those of a real Hive 4.2 metastore, field by field."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from hive.events.envelope import GZIP, PLAIN, open_message
from metatide.demo.options import Release
from metatide.demo.store import Store
from tests.metatide.demo import workload_runs

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="demo")]

REAL = Path(__file__).parents[2] / "data" / "hive-4.2.0"
EVENTS = 5_000

DIFFERENCES = {
    r"RELOAD tableType.*": "our builder names the table's type in it, Hive 4.2 doesn't",
    r"(INSERT|RELOAD) ptnObjJson.*": "we fire both of tables and of partitions; "
    "the real logs hold an INSERT of a partition and a RELOAD of a table",
    r"(INSERT|RELOAD|UPDATE_TBL_COL_STAT_EVENT) tableObjJson/8:lst/.*": "ours are of tables with "
    "partition keys and without, the real ones of one of both kinds",
    r"UPDATE_\w+_COL_STAT_EVENT colStatsJson/2:lst/3:rec/[1-4]:rec.*": "we analyze columns of "
    "several types, the real logs only bigint",
    r"DELETE_(TBL|PART)_COL_STAT_EVENT colName = .*": "we also delete those of all columns",
    r"DROP_TABLE tableObjJson/(10:str|11:str|7:rec/2:str)": "we also drop views, "
    "which have texts and no location",
}
"""What only some messages of one side have: a pattern of event type and path, and why."""


class Paths(NamedTuple):
    """Paths that some message of a type has, and those that each of them has."""

    some: set[str]
    each: set[str]


def message_paths(message: Mapping[str, Any]) -> Iterator[str]:
    """Every key of a message with its JSON type, every field of the Thrift objects in it."""
    for key, value in message.items():
        yield key
        yield f"{key} = {json_type(value)}"
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and text.startswith('{"1":'):
                yield from struct_paths(json.loads(text), key)


def json_type(value: Any) -> str:
    if isinstance(value, list):
        return f"list of {json_type(value[0])}" if value else "empty list"
    return type(value).__name__


def struct_paths(struct: Mapping[str, Any], path: str) -> Iterator[str]:
    for id_, typed in struct.items():
        ((kind, value),) = typed.items()
        here = f"{path}/{id_}:{kind}"
        yield here
        if kind == "rec":
            yield from struct_paths(value, here)
        elif kind == "map":
            yield f"{here} of {value[0]} to {value[1]}"
        elif kind == "lst":
            yield f"{here} of {value[0]}"
            for member in value[2:] if value[0] == "rec" else ():
                yield from struct_paths(member, here)


def collect(messages: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Paths]:
    keys: dict[str, list[set[str]]] = defaultdict(list)
    for type_, message in messages:
        keys[type_].append(set(message_paths(message)))
    return {type_: Paths(set.union(*each), set.intersection(*each)) for type_, each in keys.items()}


@pytest.fixture(scope="module")
def real() -> dict[str, Paths]:
    rows = (
        json.loads(line)
        for path in sorted(REAL.glob("*/log.jsonl"))
        for line in path.read_text().splitlines()
    )
    return collect(
        (
            row["EVENT_TYPE"],
            msgspec.json.decode(open_message(row["MESSAGE"], row["MESSAGE_FORMAT"])),
        )
        for row in rows
    )


@pytest.fixture(scope="module")
def events(new_metastore_database: Callable[[], str]) -> list[workload_runs.Event]:
    store = Store(new_metastore_database())
    workload_runs.write(store, EVENTS)
    return workload_runs.log(store)


def test_every_type_of_the_real_logs_is_written_and_no_other(
    real: dict[str, Paths], events: list[workload_runs.Event]
) -> None:
    assert {event.type for event in events} == set(real)


def test_messages_have_the_keys_and_fields_of_the_real_ones(
    real: dict[str, Paths], events: list[workload_runs.Event]
) -> None:
    differences = set()
    for type_, ours in collect((event.type, event.message) for event in events).items():
        theirs = real[type_]
        differences |= {f"{type_} {path}" for path in ours.some - theirs.some}
        differences |= {f"{type_} {path}" for path in theirs.each - ours.each}
    explained = {
        difference: pattern
        for difference in differences
        for pattern in DIFFERENCES
        if re.fullmatch(pattern, difference)
    }
    assert differences == set(explained)
    assert set(DIFFERENCES) == set(explained.values())


def test_both_formats_are_mixed(events: list[workload_runs.Event]) -> None:
    assert {event.format for event in events} == {GZIP, PLAIN}


def test_rows_name_what_the_real_ones_name(events: list[workload_runs.Event]) -> None:
    nameless = {"OPEN_TXN", "COMMIT_TXN", "ABORT_TXN"}
    of_databases = {"CREATE_DATABASE", "ALTER_DATABASE", "DROP_DATABASE"}
    of_databases |= {"CREATE_FUNCTION", "DROP_FUNCTION"}
    for event in events:
        assert (event.catalog is None) == (event.type in nameless)
        assert (event.database is None) == (event.type in nameless)
        assert (event.table is None) == (event.type in nameless | of_databases)


def test_before_4_1_ends_of_transactions_name_no_write_ids(
    new_metastore_database: Callable[[], str],
) -> None:
    store = Store(new_metastore_database())
    workload_runs.write(store, 600, release=Release.HIVE_4_0)
    events = workload_runs.log(store)
    assert "ALTER_PARTITIONS" not in {event.type for event in events}
    ends = [event for event in events if event.type in ("COMMIT_TXN", "ABORT_TXN")]
    assert {event.type for event in ends} == {"COMMIT_TXN", "ABORT_TXN"}
    assert not any(event.message["writeIds"] for event in ends)
    assert not any(event.message.get("databases") for event in ends)
