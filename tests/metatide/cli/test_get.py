"""`metatide get` against a real server."""

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hive.errors import InputError, MachineError
from metatide.cli import get_options, root
from metatide.cli.get import _constraint_rows, _partition_rows
from metatide.cli.get_options import Show
from metatide.client import Answer, Position
from metatide.stack.machine import free_port
from metatide.stack.state import ProcessState, StackState, StateFile
from query_api.database_answer import DatabaseAnswer
from query_api.http import Settings
from query_api.http.access import FileTokens
from query_api.http.endpoints import NAMES, OBJECTS
from query_api.reads import (
    ListDatabases,
    ListFunctions,
    ListTables,
    ListTablesOfAll,
    Read,
    Slice,
)
from tests.metatide.client.serving import serving, serving_app
from tests.metatide.client.warm_shards import DAYS, WriteIdDatabase, warm
from tests.support.terminal import on_a_terminal


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(warm(), WriteIdDatabase()) as at:
        yield at


def get(url: str, *arguments: str) -> Result:
    found = CliRunner().invoke(
        root, ["get", *arguments, "--server", url, "--consistency", "any"], catch_exceptions=False
    )
    assert found.exit_code == 0
    return found


def test_in_a_pipe_it_is_json(url: str) -> None:
    assert orjson.loads(get(url, "table", "sales.orders").stdout)["tableName"] == "orders"
    names = get(url, "partitions", "sales.orders", "--filter", f"ds > '{DAYS[7]}'")
    assert orjson.loads(names.stdout) == [f"ds={day}" for day in DAYS[8:]]
    whole = get(url, "partitions", "sales.orders", "--whole", "--limit", "2")
    assert [one["values"] for one in orjson.loads(whole.stdout)] == [[day] for day in DAYS[:2]]
    assert f"more follow: --after 'ds={DAYS[1]}'" in whole.stderr
    assert orjson.loads(get(url, "databases").stdout)[0]["name"] == "sales"
    assert orjson.loads(get(url, "tables", "sales").stdout)[0]["tableName"] == "orders"
    assert orjson.loads(get(url, "statistics", "sales.orders").stdout) == []
    assert orjson.loads(get(url, "constraints", "sales.orders").stdout)["primaryKeys"] == []
    assert orjson.loads(get(url, "event").stdout) == 5


def test_every_read_has_a_command(url: str) -> None:
    def json(*arguments: str) -> Any:
        return orjson.loads(get(url, *arguments).stdout)

    first_day = f"ds={DAYS[0]}"
    assert json("partition", "sales.orders", first_day)["values"] == [DAYS[0]]
    assert json("partitions", "sales.orders", "--count") == len(DAYS)
    assert json("partitions", "sales.orders", "--prefix", DAYS[1]) == [f"ds={DAYS[1]}"]
    assert json("tables", "s*|x")[0]["dbName"] == "sales"
    assert json("tables", "hive.s*")[0]["tableName"] == "orders"
    assert json("database", "sales")["name"] == "sales"
    assert json("functions", "sales", "--after", "a", "--limit", "1") == []
    assert json("databases", "--after", "sales", "--limit", "1") == []
    assert json("databases", "--after", "r", "--limit", "1")[0]["name"] == "sales"
    assert json("statistics", "sales.orders", "--partition", first_day) == {}
    together = ("--partition", first_day, "--column", "amount", "--as-one")
    assert json("statistics", "sales.orders", *together) == []
    table = json("write-ids", "sales.orders")["tables"][0]
    assert table["fullTableName"] == "hive.sales.orders"
    assert json("catalogs") == ["hive"]


def test_it_explains_who_answered(url: str) -> None:
    assert (
        "answered from the cache (fresh); complete up to 0:5"
        in get(url, "table", "sales.orders", "--explain").stderr
    )
    assert "answered from the database (database_only)" in get(url, "event", "--explain").stderr


def test_on_a_terminal_it_is_a_table(url: str) -> None:
    arguments = ("--server", url, "--consistency", "any")
    shown = on_a_terminal("get", "tables", "sales", *arguments)
    assert [line.split() for line in shown.splitlines()] == [
        ["table", "type", "owner"],
        ["orders", "MANAGED_TABLE", "ann"],
    ]
    shown = on_a_terminal("get", "table", "sales.orders", *arguments)
    rows = [line.split() for line in shown.splitlines()]
    assert ["sd.location", "s3a://lake/sales/orders"] in rows
    assert ["sd.cols", "amount", "bigint"] in rows
    partitions = on_a_terminal("get", "partitions", "sales.orders", "--whole", *arguments)
    assert f"s3a://lake/{DAYS[0]}" in partitions


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        (["event"], [["event"], ["5"]]),
        (["partitions", "sales.orders", "--count"], [["partitions"], [str(len(DAYS))]]),
        (["partitions", "sales.orders", "--limit", "1"], [["partition"], [f"ds={DAYS[0]}"]]),
        (["functions", "sales"], [["function", "class"]]),
    ],
)
def test_every_answer_has_its_table(
    url: str, monkeypatch: pytest.MonkeyPatch, arguments: list[str], rows: list[list[str]]
) -> None:
    monkeypatch.setattr(get_options, "Show", lambda **_: Show(explain=False, as_json=False))
    assert [line.split() for line in get(url, *arguments).stdout.splitlines()] == rows


def test_the_rows_of_constraints_and_of_partitions_of_a_view() -> None:
    constraints: dict[str, list[dict[str, Any]]] = {
        "primaryKeys": [{"column_name": "id"}],
        "foreignKeys": [{"fkcolumn_name": "shop", "pkcolumn_name": "id"}],
        "checkConstraints": [{}],
    }
    assert [*_constraint_rows(constraints)] == [
        ("primaryKeys", "id"),
        ("foreignKeys", "shop"),
        ("checkConstraints", ""),
    ]
    assert [*_partition_rows([{"values": ["1", "2"]}])] == [("1, 2", "")]


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (["function", "sales", "no"], InputError, r"there is no function no in hive\.sales$"),
        (["table", "sales.never"], InputError, r"there is no table hive\.sales\.never$"),
        (["table", "orders"], InputError, r"write db\.table or catalog\.db\.table"),
        (["database", ""], InputError, "'' is no database: write db"),
        (["functions", "hive."], InputError, "'hive.' is no database: write db or catalog.db"),
        (["function", "sales", ""], InputError, "FUNCTION is empty"),
        (["statistics", "sales.orders", "--as-one"], InputError, "--partition and --column"),
        (["table", "sales.orders", "--write-ids", "[1:]"], InputError, "--table-id go together"),
        (["table", "sales.orders", "--accept-newer"], InputError, "--write-ids"),
        (["partitions", "sales.orders", "--filter", "ds"], InputError, "bad filter"),
        (["partitions", "sales.orders", "--count", "--limit", "5"], InputError, "out --limit$"),
        (
            ["partitions", "sales.orders", "--whole", "--count", "--after", "ds=1"],
            InputError,
            "--count counts all partitions that match: leave out --after and --whole$",
        ),
        (["table", "sales.orders", "--max-age-ms", "5"], InputError, "--consistency within"),
        (["table", "sales.orders", "--min-position", "5"], InputError, "write EPOCH:EVENT"),
        (["table", "sales.orders", "--min-position", "0:99"], MachineError, "behind"),
    ],
)
def test_errors_are_one_line(
    url: str, arguments: list[str], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        get(url, *arguments)


@pytest.mark.parametrize("what", ["tables", "databases", "functions", "partitions"])
def test_the_help_tells_how_many_are_listed_by_default(what: str) -> None:
    """In a pipe, nothing else tells that a list is a part of all."""
    text = " ".join(CliRunner().invoke(root, ["get", what, "--help"]).output.split())
    whole = f", {OBJECTS:,} partitions with --whole" if what == "partitions" else ""
    names = " names" if whole else ""
    assert f"The maximum number; {NAMES:,}{names} by default{whole}." in text


class Empty(WriteIdDatabase):
    """A database in whose databases nothing is."""

    async def answer(self, read: Read[Any]) -> DatabaseAnswer[Any]:
        if isinstance(read, ListDatabases | ListTables | ListTablesOfAll | ListFunctions):
            return DatabaseAnswer(Slice([], None), 5)
        return await super().answer(read)


@pytest.mark.parametrize("arguments", [["databases", "--catalog", "Nope"], ["tables", "nope.s*"]])
def test_an_empty_list_is_told_from_one_of_no_catalog(arguments: list[str]) -> None:
    with serving(warm(), Empty()) as url:
        with pytest.raises(InputError, match=r"there is no catalog nope$"):
            get(url, *arguments)
        assert (
            orjson.loads(get(url, "databases", "--catalog", "hive", "--pattern", "x").stdout) == []
        )


@pytest.mark.parametrize(
    "more",
    [
        [],
        ["--partition", f"ds={DAYS[0]}"],
        ["--partition", f"ds={DAYS[0]}", "--column", "amount", "--as-one"],
    ],
)
def test_a_column_without_statistics_is_told_from_one_that_does_not_exist(
    url: str, more: list[str]
) -> None:
    assert not orjson.loads(get(url, "statistics", "sales.orders", "--column", "DS", *more).stdout)
    with pytest.raises(InputError, match=r"sales\.orders has no column nope: it has amount, ds$"):
        get(url, "statistics", "sales.orders", "--column", "Nope", *more)


@pytest.mark.parametrize("what", ["tables", "functions"])
def test_an_empty_list_is_told_from_one_of_nowhere(what: str) -> None:
    with serving(warm(), Empty()) as url:
        assert orjson.loads(get(url, what, "sales", "--pattern", "no*").stdout) == []
        with pytest.raises(InputError, match=r"there is no database hive\.never$"):
            get(url, what, "never")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--consistency", "at_least"], "--consistency at_least needs --min-position EPOCH:EVENT$"),
        ([], "^no server: start `metatide up`, or give --server URL; "),
    ],
)
def test_what_is_missing_is_named(options: list[str], says: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(root, ["get", "event", *options, "--data-dir", str(tmp_path)])
    assert isinstance(done.exception, InputError)
    assert re.search(says, str(done.exception))


@pytest.mark.parametrize("has_stack", [False, True])
def test_the_configured_worker_is_read_from(
    url: str, tmp_path: Path, has_stack: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if has_stack:
        # No worker of its own runs yet.
        nowhere = f"http://127.0.0.1:{free_port()}"
        processes = [ProcessState("kafka", nowhere, "running"), ProcessState("worker-0", nowhere)]
        StateFile(tmp_path).write(StackState(1, nowhere, processes))
    monkeypatch.setenv("METATIDE_WORKER_PORT", url.rpartition(":")[2])
    done = CliRunner().invoke(root, ["get", "event", "--data-dir", str(tmp_path)])
    assert orjson.loads(done.stdout) == 5


@pytest.mark.parametrize(
    ("host", "certificate", "fault"),
    [
        ("::1", "", "http://[::1]:1 does not answer"),
        ("0.0.0.0", "", "http://127.0.0.1:1 does not answer"),
        ("127.0.0.1", "chain.pem", "https://127.0.0.1:1 does not answer"),
    ],
)
def test_the_configured_worker_is_asked_where_and_as_it_listens(
    host: str, certificate: str, fault: str, tmp_path: Path
) -> None:
    environment = {
        "METATIDE_WORKER_HOST": host,
        "METATIDE_WORKER_PORT": "1",
        "METATIDE_READS_TLS_CERTIFICATE": certificate,
        "METATIDE_READS_TLS_KEY": certificate,
    }
    command = ["get", "event", "--data-dir", str(tmp_path)]
    done = CliRunner().invoke(root, command, env=environment)
    assert str(done.exception).startswith(fault)


def test_a_server_that_is_not_there() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(MachineError, match=r"does not answer.*--server"):
        get(url, "table", "sales.orders")


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8080", "http://127.0.0.1:abc", "http://[::1", "http://", "ftp://host"]
)
def test_a_server_whose_address_is_no_url(url: str) -> None:
    with pytest.raises(InputError, match=r"--server: .* is wrong: expected http://HOST:PORT"):
        get(url, "table", "sales.orders")


def test_a_name_that_is_too_long_for_a_url(url: str) -> None:
    with pytest.raises(InputError, match="too long for a URL"):
        get(url, "database", "d" * 100_000)


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_not_used(
    url: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be shown the token."""
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv(variable, f"http://127.0.0.1:{free_port()}")
    assert orjson.loads(get(url, "event").stdout) == 5
    explained = ["explain", "sales.orders", "--server", url, "--consistency", "any"]
    assert CliRunner().invoke(root, explained, catch_exceptions=False).exit_code == 0


def test_a_server_of_something_else() -> None:
    def ours(_: Request) -> Response:
        return JSONResponse({"eventId": 5})

    routes = [Route("/v1/current-event", ours)]
    with serving_app(Starlette(routes=routes)) as url:
        for command in ("databases", "event"):
            with pytest.raises(InputError, match="doesn't answer as Metatide does"):
                get(url, command)


def test_a_client_without_a_token_is_told_where_to_put_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"read {sha256(b'known').hexdigest()}\n")
    with serving(warm(), WriteIdDatabase(), Settings(tokens=FileTokens(path))) as url:
        with pytest.raises(InputError, match="requires a token: set METATIDE_CLIENT_TOKEN"):
            get(url, "event")
        monkeypatch.setenv("METATIDE_CLIENT_TOKEN", "other")
        with pytest.raises(InputError, match="doesn't know the token"):
            get(url, "event")
        for bad in ("bäd", "known "):
            monkeypatch.setenv("METATIDE_CLIENT_TOKEN", bad)
            with pytest.raises(InputError, match="contains invalid characters"):
                get(url, "event")
        monkeypatch.setenv("METATIDE_CLIENT_TOKEN", "known")
        assert orjson.loads(get(url, "event").stdout) == 5


def test_what_looks_like_markup_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    show = Show(explain=False, as_json=False)
    answer = Answer(["a=[red]", "a=[/]"], "cache", "fresh", Position(0, 1))
    show(answer, ("partition",), lambda value: ((one,) for one in value))
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        "partition",
        "a=[red]",
        "a=[/]",
    ]
