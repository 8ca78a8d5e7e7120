"""`metatide get` against a real server."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from hive.errors import InputError, MachineError
from metatide.cli import root
from metatide.stack.machine import free_port
from tests.metatide.client.serving import serving
from tests.metatide.client.test_client import DAYS, Told, warm
from tests.support.terminal import on_a_terminal


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(warm(), Told()) as at:
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

    one = f"ds={DAYS[0]}"
    assert json("partition", "sales.orders", one)["values"] == [DAYS[0]]
    assert json("partitions", "sales.orders", "--count") == len(DAYS)
    assert json("partitions", "sales.orders", "--prefix", DAYS[1]) == [f"ds={DAYS[1]}"]
    assert json("tables", "s*|x")[0]["dbName"] == "sales"
    assert json("database", "sales")["name"] == "sales"
    assert json("functions", "sales") == []
    assert json("statistics", "sales.orders", "--partition", one) == {}
    together = ("--partition", one, "--column", "amount", "--as-one")
    assert json("statistics", "sales.orders", *together) == []
    told = json("write-ids", "sales.orders")["tables"][0]
    assert told["fullTableName"] == "hive.sales.orders"
    assert json("catalogs") == ["hive"]


def test_it_explains_who_answered(url: str) -> None:
    assert (
        "cache, because of: fresh; complete up to 0:5"
        in get(url, "table", "sales.orders", "--explain").stderr
    )
    assert "database, because of: database_only" in get(url, "event", "--explain").stderr


def test_on_a_terminal_it_is_a_table(url: str) -> None:
    arguments = ("--server", url, "--consistency", "any")
    shown = on_a_terminal("get", "tables", "sales", *arguments)
    assert [line.split() for line in shown.splitlines()] == [
        ["table", "type", "owner"],
        ["orders", "MANAGED_TABLE", "ann"],
    ]
    partitions = on_a_terminal("get", "partitions", "sales.orders", "--whole", *arguments)
    assert f"s3a://lake/{DAYS[0]}" in partitions


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (["table", "sales.never"], InputError, "there is no table"),
        (["partitions", "sales.orders", "--filter", "ds"], InputError, "bad filter"),
        (["table", "sales.orders", "--min-position", "5"], InputError, "write EPOCH:EVENT"),
        (["table", "sales.orders", "--min-position", "0:99"], MachineError, "behind"),
    ],
)
def test_errors_are_one_line(
    url: str, arguments: list[str], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        get(url, *arguments)


def test_a_server_that_is_not_there() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(MachineError, match="does not answer"):
        get(url, "table", "sales.orders")
