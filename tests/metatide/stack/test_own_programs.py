"""How PostgreSQL, Java and Kerberos are prepared for a stack; without running them."""

import os
import pwd
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import psycopg
import pytest
import sqlalchemy as sa

from hive.errors import InputError, MachineError
from hive.schema import Version
from metatide.stack import class_archive, postgres
from metatide.stack.kdc import Kdc
from metatide.stack.machine import file_lock
from metatide.stack.metastore import _require_schema, runnable
from metatide.stack.ports import Ports
from metatide.stack.postgres import Postgres, copy_programs


def server(folder: Path) -> Postgres:
    return Postgres(folder / "postgres", Ports(folder / "ports.json"))


def test_a_user_who_is_not_root_runs_postgresql_as_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[tuple[Sequence[str], str | None]] = []

    def run(command: Sequence[str], _purpose: str, user: str | None) -> None:
        commands.append((command, user))

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(postgres, "run_tool", run)
    mode = tmp_path.stat().st_mode
    postgres.let_through(tmp_path)
    assert tmp_path.stat().st_mode == mode
    launch = server(tmp_path).prepare()
    [(command, user)] = commands
    assert (Path(command[0]).name, user, launch.user) == ("initdb", None, None)
    assert {path.name for path in (tmp_path / "postgres").iterdir()} == {"password", "data"}


def test_root_needs_a_user_for_postgresql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(pwd, "getpwall", lambda: [])
    with pytest.raises(MachineError, match="no user postgres or nobody here; run this as another"):
        server(tmp_path)


def test_programs_that_its_user_cannot_reach_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(postgres, "_reaches", lambda *_: False)
    monkeypatch.setattr(postgres, "copy_programs", lambda _, target: target)
    assert server(tmp_path)._programs() == tmp_path / "postgres" / "program"


def test_links_among_programs_stay_links(tmp_path: Path) -> None:
    package = tmp_path / "package"
    for folder in (package / "pginstall18" / "bin", tmp_path / "package.libs"):
        folder.mkdir(parents=True)
    (package / "pginstall18" / "bin" / "postgres").touch(0o700)
    (package / "pginstall18" / "bin" / "postmaster").symlink_to("postgres")
    programs = copy_programs(package, tmp_path / "copy")
    assert (programs / "postmaster").readlink() == Path("postgres")
    assert (programs / "postgres").stat().st_mode & 0o555 == 0o555


def test_the_pid_file_of_a_server_that_runs_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = server(tmp_path)
    data = tmp_path / "postgres" / "data"
    data.mkdir()
    pid_file = data / "postmaster.pid"
    pid_file.write_text("7\n")
    running = SimpleNamespace(cmdline=lambda: ["postgres", "-D", str(data)])
    monkeypatch.setattr(psutil, "Process", lambda _: running)
    ours._drop_stale_pid_file()
    assert pid_file.exists()


def test_a_server_that_ends_before_it_has_a_database_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(_: sa.URL) -> None:
        raise psycopg.OperationalError("the server closed the connection")

    monkeypatch.setattr(postgres, "connect", connect)
    with pytest.raises(MachineError, match=r"^the metastore's database could not be made: the ser"):
        server(tmp_path).settle()


def test_a_java_that_was_installed_without_permissions_becomes_runnable(tmp_path: Path) -> None:
    java, helper = tmp_path / "bin" / "java", tmp_path / "lib" / "jspawnhelper"
    for program in (java, helper):
        program.parent.mkdir()
        program.touch(0o644)
    assert runnable(java) == java
    assert [oct(path.stat().st_mode & 0o777) for path in (java, helper)] == ["0o755", "0o755"]


def test_a_metastore_logs_in_at_its_database_by_password_alone() -> None:
    url = sa.make_url("postgresql://hive@db/hms?password_command=pass")
    with pytest.raises(InputError, match=r"by METATIDE_DATABASE_PASSWORD alone: set that instead"):
        _require_schema(url, Version.V4_1)


def test_a_keytab_that_was_not_written_is_said(tmp_path: Path) -> None:
    realm: Any = SimpleNamespace(administer=lambda _: None)
    with pytest.raises(MachineError, match=r"^kadmin\.local has written no keys of a@X, b@X$"):
        Kdc.write_keytab(realm, tmp_path / "keytab", ["a@X", "b@X"])


def test_what_other_runs_left_beside_an_archive_goes(tmp_path: Path) -> None:
    target = tmp_path / "kafka-1.jsa"
    first, second = (tmp_path / f"kafka-1.jsa.{number}.new" for number in (1, 2))
    for path in (first, second):
        path.write_bytes(b"whole")
    class_archive._take_finished(target)
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_an_archive_that_another_process_has_just_made_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METATIDE_CACHE_DIR", str(tmp_path / "cache"))
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    # Any run of it would fail.
    java.touch(0o644)
    targets: list[Path] = []

    def wait(path: Path) -> Any:
        targets.append(path.with_suffix(".jsa"))
        targets[0].touch()
        return file_lock(path)

    monkeypatch.setattr(class_archive, "file_lock", wait)
    assert class_archive._base(java) == targets[0]
