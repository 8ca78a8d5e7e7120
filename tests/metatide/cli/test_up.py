import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from metatide.stack.ownership import end_orphans
from metatide.stack.state import StateFile
from query_api.http.health import FRESH_S
from tests.support import local_http
from tests.support.databases.postgres import Server
from tests.support.hive import hms_client
from tests.support.processes import open_folder
from tests.support.stacks import Stack, processes_on, stack

# Three starts of everything have taken 190 s where forty processes shared two cores.
pytestmark = [pytest.mark.timeout(900), pytest.mark.by_turns(2, of="stacks")]


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as parent:
        yield parent / "data"
        end_orphans(parent / "data")


@pytest.fixture(scope="module")
def shared() -> Iterator[Stack]:
    # A proxy for the world outside has nothing to do with processes of one machine.
    proxies = {"HTTP_PROXY": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1"}
    with open_folder() as parent, stack(parent / "data", **proxies) as running:
        yield running


def up(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A run that is expected to end by itself."""
    return subprocess.run(
        [sys.executable, "-m", "metatide", "up", "--data-dir", str(folder), *options],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def database_url(running: Stack) -> str:
    password = (running.folder / "postgres" / "password").read_text()
    return running.entry("postgres").address.replace("metatide@", f"metatide:{password}@")


def admin(running: Stack) -> AdminClient:
    return AdminClient({"bootstrap.servers": running.entry("kafka").address})


def leave_a_mark(running: Stack, name: str) -> None:
    client = admin(running)
    client.create_topics([NewTopic(name, 1, 1)])[name].result(30)
    with psycopg.connect(database_url(running)) as connection:
        connection.execute(f"CREATE TABLE {name} (id int)")


def find_the_mark(running: Stack, name: str) -> None:
    assert name in admin(running).list_topics(timeout=30).topics
    with psycopg.connect(database_url(running)) as connection:
        connection.execute(f"SELECT id FROM {name}")


def assert_nothing_left(folder: Path) -> None:
    assert processes_on(folder) == []
    assert not (folder / "lock").exists()
    assert StateFile(folder).read() is None


def test_all_is_said_to_be_ready(shared: Stack) -> None:
    address = shared.state.address
    report = local_http.get(f"{address}/readyz").json()
    assert {one["name"]: one["ok"] for one in report["checks"]} == {
        "Kafka": True,
        "database": True,
        "processes": True,
    }
    shared.until(lambda: f": {address} (Ctrl-C ends it)" in shared.output)


def test_the_database_is_a_metastores(shared: Stack) -> None:
    with psycopg.connect(database_url(shared)) as connection:
        row = connection.execute('SELECT "NEXT_EVENT_ID" FROM "NOTIFICATION_SEQUENCE"').fetchone()
    assert row == (1,)


def test_the_password_is_kept_from_others_and_from_the_terminal(shared: Stack) -> None:
    password = shared.folder / "postgres" / "password"
    assert password.stat().st_mode & 0o077 == 0
    assert password.read_text() not in shared.output
    assert password.read_text() not in StateFile(shared.folder)._path.read_text()
    assert not any(password.read_text() in line for line in processes_on(shared.folder))


def test_what_it_writes_is_kept_from_others(shared: Stack) -> None:
    shared.until(lambda: any(shared.folder.rglob("CURRENT")))
    modes: dict[Path, int] = {shared.folder: shared.folder.stat().st_mode}
    for path in shared.folder.rglob("*"):
        # Stores and the broker delete files all the time.
        with suppress(FileNotFoundError):
            modes[path] = path.lstat().st_mode
    # PostgreSQL's programs came with a package, for everybody.
    programs = shared.folder / "postgres" / "program"
    written = {path for path in modes if not path.is_relative_to(programs)}
    assert {"lock", "kafka.log", "CURRENT", "server.properties"} <= {path.name for path in written}
    assert [path for path in written if modes[path] & 0o007] == []


@pytest.mark.slow
def test_children_have_the_secrets_that_they_need(folder: Path, postgres_server: Server) -> None:
    secrets = {
        "METATIDE_DATABASE_URL": postgres_server.new_database(),
        "METATIDE_IMAGES_URL": "memory://images?token=hush",
        "METATIDE_CLIENT_TOKEN": "hush",
    }
    with stack(folder, **secrets) as running:
        names_by_process = {
            process.name: set(secrets) & psutil.Process(process.pid).environ().keys()
            for process in running.state.processes
        }
    assert names_by_process == {
        "kafka": set(),
        "connect": {"METATIDE_DATABASE_URL"},
        "worker-1": {"METATIDE_DATABASE_URL", "METATIDE_IMAGES_URL"},
        "http": {"METATIDE_DATABASE_URL"},
    }


@pytest.mark.parametrize("name", ["kafka", "postgres", "connect", "worker-1", "http"])
def test_a_killed_process_is_back_by_itself(shared: Stack, name: str) -> None:
    mark = f"before_{name}".replace("-", "_")
    leave_a_mark(shared, mark)
    address = shared.entry(name).address
    shared.kill(name)
    assert shared.entry(name).address == address
    assert f"{name} was ended by SIGKILL; starting it again" in shared.output
    shared.until(lambda: f"{name} is back after" in shared.output)
    find_the_mark(shared, mark)


def test_a_second_stack_on_the_same_folder_is_refused(shared: Stack) -> None:
    done = up(shared.folder)
    assert done.returncode == 1
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert f"already runs on {shared.folder}" in line
    assert f"process {shared.process.pid}, {shared.state.address}" in line
    assert shared.ready()


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.torture),
        pytest.param(signal.SIGHUP, marks=pytest.mark.torture),
    ],
)
def test_it_ends_in_order(folder: Path, kafka_broker: str, how: signal.Signals) -> None:
    with stack(folder, "--kafka", kafka_broker) as running:
        assert [one.name for one in running.state.processes] == [
            "postgres",
            "connect",
            "worker-1",
            "http",
        ]
        assert running.end(how) == 0
        assert running.output.endswith("all ended\n")
    assert_nothing_left(folder)
    log = (folder / "logs" / "postgres.log").read_text()
    assert "database system is shut down" in log


@pytest.mark.slow
def test_asked_to_end_while_it_starts_it_ends(folder: Path) -> None:
    running = Stack(folder)
    running.until(lambda: "data in" in running.output)
    time.sleep(0.7)
    assert running.end() == 0, running.output
    assert_nothing_left(folder)


@pytest.mark.slow
def test_what_a_killed_run_left_is_ended_and_found_again(folder: Path) -> None:
    with stack(folder) as running:
        leave_a_mark(running, "kept")
        before = running.state
        running.end(signal.SIGKILL)
    assert all(psutil.pid_exists(one.pid or 0) for one in before.processes)
    time.sleep(FRESH_S)
    assert local_http.get(f"{before.address}/readyz").status_code == 503
    with stack(folder) as running:
        left = "http, worker-1, connect, postgres, kafka"
        assert f"stopped what a killed run had left: {left}" in running.output
        find_the_mark(running, "kept")
        after = running.state
        assert after.address == before.address
        assert [one.address for one in after.processes] == [one.address for one in before.processes]
        # All at once, as when the power fails.
        for pid in [running.process.pid, *(one.pid or 0 for one in after.processes)]:
            os.kill(pid, signal.SIGKILL)
        running.process.wait()
    with stack(folder) as running:
        find_the_mark(running, "kept")
    assert_nothing_left(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "after_s",
    [
        pytest.param(0.2, marks=pytest.mark.torture),
        0.8,
        pytest.param(1.6, marks=pytest.mark.torture),
    ],
)
def test_a_first_start_cut_short_is_made_good(folder: Path, after_s: float) -> None:
    running = Stack(folder)
    running.until(lambda: "data in" in running.output)
    time.sleep(after_s)
    running.end(signal.SIGKILL)
    with stack(folder):
        pass
    assert_nothing_left(folder)


@pytest.mark.slow
def test_a_database_of_yours_is_used_and_left_as_it_is(
    folder: Path, kafka_broker: str, postgres_server: Server
) -> None:
    url = postgres_server.new_database()
    with stack(folder, "--kafka", kafka_broker, METATIDE_DATABASE_URL=url) as running:
        assert [one.name for one in running.state.processes] == ["connect", "worker-1", "http"]
        with psycopg.connect(url) as connection:
            tables = connection.execute("SELECT FROM pg_tables WHERE schemaname = 'public'")
            assert tables.fetchall() == []


@pytest.mark.hive
def test_a_real_metastore_runs_on_the_database(folder: Path, kafka_broker: str) -> None:
    with stack(folder, "--kafka", kafka_broker, "--metastore") as running:
        assert [one.name for one in running.state.processes] == [
            "postgres",
            "metastore",
            "connect",
            "worker-1",
            "http",
        ]
        with hms_client.connect(running.entry("metastore").address) as client:
            client.create_database("of_the_stack")
        with psycopg.connect(database_url(running)) as connection:
            rows = connection.execute('SELECT "DB_NAME" FROM "NOTIFICATION_LOG"').fetchall()
        assert ("of_the_stack",) in rows
        running.kill("metastore")
        with hms_client.connect(running.entry("metastore").address) as client:
            assert client.position() >= 1
    assert_nothing_left(folder)


def refused(done: subprocess.CompletedProcess[str], folder: Path) -> str:
    """The one line that says why; nothing runs then."""
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert_nothing_left(folder)
    return done.stderr.splitlines()[-1]


def test_a_port_in_use_is_said(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        line = refused(up(folder, "--http-port", str(port)), folder)
    assert f"port {port} on 127.0.0.1 is in use" in line
    assert "--http-port" in line


def test_a_wrong_java_home_is_said(folder: Path) -> None:
    line = refused(up(folder, JAVA_HOME="/nonexistent"), folder)
    assert "JAVA_HOME is /nonexistent" in line
    assert "install Java 17 or newer" in line


def test_a_kafka_that_does_not_answer_is_said(folder: Path) -> None:
    line = refused(up(folder, "--kafka", "127.0.0.1:1"), folder)
    assert "no Kafka answers at 127.0.0.1:1" in line


def test_a_database_that_does_not_answer_is_said_without_its_password(
    folder: Path, kafka_broker: str
) -> None:
    url = "postgresql://me:hush@127.0.0.1:1/metastore"
    done = up(folder, "--kafka", kafka_broker, METATIDE_DATABASE_URL=url)
    assert "no database answers at postgresql://me:***@127.0.0.1:1/metastore" in refused(
        done, folder
    )
    assert "hush" not in done.stdout + done.stderr


def test_no_network_for_the_jars_is_said(folder: Path) -> None:
    done = up(
        folder,
        METATIDE_CACHE_DIR=str(folder / "cache"),
        JAVA_TOOL_OPTIONS="-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=1",
    )
    assert "no network" in refused(done, folder)
