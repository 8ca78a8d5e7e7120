"""Real logs fold to what the real metastore said of its write ids at the end."""

import base64
import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from hive.write_ids.lists import WriteIdList
from hive.write_ids.pages import WriteIdsCold
from hive.write_ids.relations import equal
from hive.write_ids.text import parse_write_id_list
from hive.write_ids.tracker import WriteIdTracker
from hive.write_ids.view import WriteIdView
from tests.hive.write_ids.memory import MemoryPages

DATA = Path(__file__).parents[2] / "data" / "hive-4.2.0"
KNOWN = {"every-event-gzip": 3, "every-event-json": 3, "one-writer": 7, "four-writers": 0}
"""How many tables' write ids events alone can tell; the others were renamed or never written."""


def message(row: dict[str, Any]) -> Any:
    text = row["MESSAGE"]
    if row["MESSAGE_FORMAT"] == "gzip(json-2.0)":
        text = gzip.decompress(base64.b64decode(text))
    return json.loads(text)


class Tables(defaultdict[str, MemoryPages]):
    """Lists by `db.table`, and the folding of rows into them."""

    def __init__(self, *, names_ids: bool) -> None:
        super().__init__(MemoryPages)
        self.names_ids = names_ids

    def of(self, database: str | None = None) -> list[tuple[str, WriteIdTracker]]:
        prefix = "" if database is None else f"{database}."
        names = [name for name in self if name.startswith(prefix)]
        return [(name, WriteIdTracker(self[name])) for name in names]

    def fold(self, row: dict[str, Any]) -> None:
        event, kind, body = row["EVENT_ID"], row["EVENT_TYPE"], message(row)
        name = f"{row['DB_NAME']}.{row['TBL_NAME']}"
        match kind:
            case "ALLOC_WRITE_ID_EVENT":
                pairs = zip(body["txnIdList"], body["writeIdList"], strict=True)
                WriteIdTracker(self[name]).alloc(event, pairs)
            case "COMMIT_TXN":
                for table, ids in self.of():
                    ids.commit(event, body["txnid"], self.named(body, table))
            case "ABORT_TXN":
                for _, ids in self.of():
                    ids.abort(event, body["txnid"])
            case "DROP_TABLE":
                WriteIdTracker(self[name]).forget(event, WriteIdsCold.DROPPED)
            case "DROP_DATABASE":
                for _, ids in self.of(row["DB_NAME"]):
                    ids.forget(event, WriteIdsCold.DROPPED)
            case "ALTER_TABLE":
                for table in {name, f"{body['db']}.{body['table']}"}:
                    if table != name or body["table"] != row["TBL_NAME"]:
                        WriteIdTracker(self[table]).forget(event, WriteIdsCold.RENAMED)
                self.see(event, name, body)
            case _:
                self.see(event, name, body)

    def named(self, body: dict[str, Any], table: str) -> frozenset[int] | None:
        if not self.names_ids:
            return None
        database = table.partition(".")[0]
        pairs = zip(body["writeIds"], body["databases"], strict=True)
        return frozenset(id_ for id_, db in pairs if db == database)

    def see(self, event: int, table: str, body: dict[str, Any]) -> None:
        if body.get("writeId", 0) > 0:
            WriteIdTracker(self[table]).see(event, body["writeId"])


def outcome(ids: WriteIdView, wanted: WriteIdList) -> str:
    found = ids.snapshot()
    if found is None:
        return str(ids.cold)
    return "equal" if equal(wanted, found) else "different"


@pytest.mark.parametrize("names_ids", [True, False], ids=["4.2", "4.0"])
@pytest.mark.parametrize(("log", "table_count"), KNOWN.items())
def test_the_end_of_a_real_log(log: str, table_count: int, names_ids: bool) -> None:
    tables = Tables(names_ids=names_ids)
    for line in (DATA / log / "log.jsonl").read_text().splitlines():
        tables.fold(json.loads(line))
    state = json.loads((DATA / log / "state.json").read_text())
    answers = [
        outcome(WriteIdView(tables[table]), parse_write_id_list(text))
        for table, text in state["valid_write_ids"].items()
    ]
    assert set(answers) <= {"equal", WriteIdsCold.RENAMED, WriteIdsCold.UNKNOWN}
    assert answers.count("equal") == table_count
