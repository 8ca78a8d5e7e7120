"""A Docker engine that belongs to the tests, with its own socket, and nothing left behind."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from hive.errors import MachineError
from metatide.stack.machine import file_lock
from state.folders import make_folder
from tests.containers import compose_plugin
from tests.support.processes import die_with_parent

START_S: Final = 120.0
STOP_S: Final = 120.0
CALL_S: Final = 1_500.0
_POLL_S: Final = 0.2
# BuildKit bounds its cache by itself: pruning it by a command fails for good ("snapshot … not
# found") once Docker 20.10 has lost one of its snapshots, by which no build is disturbed.
_CONFIGURATION: Final = {"builder": {"gc": {"enabled": True, "defaultKeepStorage": "8GB"}}}


class Engine:
    """A running engine, and the command `docker` for it."""

    def __init__(self, run: Path, client: Path) -> None:
        self.host = f"unix://{run / 'docker.sock'}"
        self.environment: Mapping[str, str] = {
            **{name: value for name, value in os.environ.items() if not _is_setting(name)},
            "DOCKER_HOST": self.host,
            "DOCKER_CONFIG": str(client),
            # A client without a plugin for BuildKit builds stand-ins by itself alone.
            "DOCKER_BUILDKIT": "0",
        }

    def docker(
        self,
        *arguments: str | Path,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> str:
        """The output of the command, which must succeed."""
        done = self.attempt(*arguments, environment=environment, cwd=cwd)
        assert done.returncode == 0, f"docker {arguments}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def attempt(
        self,
        *arguments: str | Path,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["docker", *arguments],
            env={**self.environment, **(environment or {})},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=CALL_S,
            check=False,
        )

    def feed(self, write: Callable[[Any], None], *arguments: str) -> None:
        """Runs the command with what `write` writes to its standard input."""
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                ["docker", *arguments],
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            with process:
                with suppress(BrokenPipeError):
                    write(process.stdin)
                assert process.stdin is not None
                with suppress(BrokenPipeError):
                    process.stdin.close()
            output.seek(0)
            assert process.returncode == 0, output.read().decode()

    def inspect(self, *names: str) -> list[dict[str, Any]]:
        objects: list[dict[str, Any]] = json.loads(self.docker("inspect", *names)) if names else []
        return objects

    @contextmanager
    def started_images(self) -> Iterator[list[str]]:
        """The images of the containers that are started within the block, known at its end."""
        images: list[str] = []
        # They are followed, because the engine remembers the last few events only.
        began = self.docker("info", "--format", "{{.SystemTime}}").strip()
        command = ["docker", "events", "--since", began, "--filter", "event=start"]
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(
                [*command, "--format", "{{.From}}"], env=self.environment, stdout=output
            )
            try:
                yield images
            finally:
                process.terminate()
                process.wait()
            output.seek(0)
            images += output.read().split()

    def clear(self) -> None:
        """Removes all containers, networks and volumes; images stay."""
        if containers := self.docker("ps", "--all", "--quiet").split():
            self.docker("rm", "--force", "--volumes", *containers)
        if volumes := self.docker("volume", "ls", "--quiet").split():
            self.docker("volume", "rm", *volumes)
        self.docker("network", "prune", "--force")

    def forget_old_images(self) -> None:
        """Keeps images from piling up with each change of the project."""
        self.docker("image", "prune", "--force")


def _is_setting(name: str) -> bool:
    return name.startswith(("DOCKER_", "COMPOSE_", "METATIDE_"))


@contextmanager
def running_engine(cache: Path) -> Iterator[Engine]:
    """Runs an engine that keeps its images in `cache`, which one engine uses at a time."""
    make_folder(cache)
    client = compose_plugin.client_folder(cache)
    with file_lock(cache / ".engine.lock"), _run_folder() as run:
        engine = Engine(run, client)
        log = run / "log"
        _unmount_below(cache / "engine")
        process = _start(_arguments(cache, run, engine.host), log)
        try:
            _wait(engine, process, log)
            engine.clear()
            yield engine
            engine.clear()
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _unmount_below(folder: Path) -> None:
    """Ends what a killed engine has left mounted, by which its containers couldn't be removed."""
    for line in reversed(Path("/proc/mounts").read_text().splitlines()):
        place = line.split()[1]
        if Path(place).is_relative_to(folder):
            subprocess.run(["umount", place], check=True)


def _arguments(cache: Path, run: Path, host: str) -> Sequence[str]:
    program = shutil.which("dockerd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        raise MachineError("there is no dockerd; install a Docker engine (Debian: docker.io)")
    configuration = run / "daemon.json"
    configuration.write_text(json.dumps(_CONFIGURATION))
    return (
        program,
        f"--config-file={configuration}",
        f"--data-root={cache / 'engine'}",
        f"--exec-root={run / 'exec'}",
        f"--pidfile={run / 'pid'}",
        f"--host={host}",
        "--log-level=warn",
    )


@contextmanager
def _run_folder() -> Iterator[Path]:
    """A folder with a short path, as sockets need."""
    folder = Path(tempfile.mkdtemp(prefix="metatide-docker-", dir="/tmp"))
    try:
        yield folder
    finally:
        # What was mounted there goes when the last container has ended.
        shutil.rmtree(folder, ignore_errors=True)


def _start(arguments: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as out:
        return subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd="/",
            process_group=0,
            preexec_fn=die_with_parent(signal.SIGTERM),
        )


def _wait(engine: Engine, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while engine.attempt("version").returncode != 0:
        assert process.poll() is None, f"dockerd ended:\n{log.read_text()}"
        assert time.monotonic() < deadline, f"dockerd is silent:\n{log.read_text()}"
        time.sleep(_POLL_S)
