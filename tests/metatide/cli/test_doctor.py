"""`metatide doctor` as a person and as a program see it."""

import json
import os
import uuid
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from hive.reader.engines import unpooled_engine
from hive.schema import Version, create
from metatide.cli import root
from metatide.doctor import CHECKS
from metatide.stack.machine import free_port
from tests.support.terminal import on_a_terminal


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("METATIDE_")]:
        if not variable.startswith("METATIDE_TEST_"):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("METATIDE_DATA_DIR", str(tmp_path))


def doctor(*arguments: str) -> Result:
    return CliRunner().invoke(root, ["doctor", *arguments])


def test_without_anything_it_fails_and_says_what_to_do() -> None:
    done = doctor()
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.exit_code == 1
    assert [line["check"] for line in lines] == [check.name for check in CHECKS]
    by_check = {line["check"]: line for line in lines}
    assert by_check["kafka"]["status"] == "failed"
    assert by_check["kafka"]["remedy"] == "start `metatide up` or give --kafka"
    assert by_check["metastore"]["status"] == "not checked"


def test_the_log_is_no_part_of_the_output() -> None:
    done = doctor("--upstream", f"thrift://127.0.0.1:{free_port()}")
    by_check = {line["check"]: line for line in map(json.loads, done.stdout.splitlines())}
    assert by_check["metastore"]["status"] == "failed"
    assert "a metastore doesn't answer" in done.stderr


def test_with_all_parts_it_is_content(
    kafka_broker: str, new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_database()
    create(unpooled_engine(url), Version.V4_1)
    monkeypatch.setenv("METATIDE_DATABASE_URL", url)
    # Nobody has ever published to this one.
    monkeypatch.setenv("METATIDE_KAFKA_TOPIC", f"doctor-{uuid.uuid4().hex}")
    done = doctor("--kafka", kafka_broker)
    assert done.exit_code == 0, done.stdout
    assert {json.loads(line)["status"] for line in done.stdout.splitlines()} == {
        "ok",
        "not checked",
    }


def test_a_database_without_an_encoding_is_refused_with_a_remedy(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = sa.make_url(new_database())
    url = beside.set(database=f"{beside.database}_ascii")
    with psycopg.connect(beside.render_as_string(hide_password=False), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {url.database} TEMPLATE template0 ENCODING 'SQL_ASCII'")
    monkeypatch.setenv("METATIDE_DATABASE_URL", url.render_as_string(hide_password=False))
    by_check = {line["check"]: line for line in map(json.loads, doctor().stdout.splitlines())}
    assert by_check["database"]["status"] == "failed"
    assert by_check["database"]["detail"] == (
        f"the database {url.database} has the encoding SQL_ASCII, which doesn't say what its "
        "texts mean"
    )
    assert by_check["database"]["remedy"].startswith("create one with ENCODING 'UTF8'")


def test_on_a_terminal_it_is_a_table_with_remedies() -> None:
    table = on_a_terminal("doctor", status=1)
    assert "→ start `metatide up` or give --kafka" in table
    assert "failed" in table
    lines = on_a_terminal("doctor", "--json", status=1).splitlines()
    objects = [json.loads(line) for line in lines if line.startswith("{")]
    assert [one["check"] for one in objects] == [check.name for check in CHECKS]
