"""A machine that runs systemd: this one's files and network, and processes of its own."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil

from tests.support.processes import die_with_parent

ROOT: Final = Path(__file__).parents[2]
PATIENCE_S: Final = 60.0
_POLL_S: Final = 0.05
_BOOT: Final = Path(__file__).with_name("boot-systemd")
_SITE: Final = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
_PYTHON: Final = "/opt/python"
_PACKAGES: Final = "/opt/packages"
CHECKOUT: Final = "/opt/checkout"
_SHOWN: Final = "hive", "state", "connectors", "processors", "query_api", "metatide", "deploy"


class SystemdMachine:
    """Metatide is installed in /opt/metatide, as its page says, but not its units."""

    def __init__(self, pid: int) -> None:
        self._enter = ["nsenter", f"--target={pid}", "--mount", "--pid", "--uts", "--root", "--wd"]
        self.files = Path(f"/proc/{pid}/root")

    def run(self, *command: str | Path, check: bool = True) -> str:
        """Runs a command as root, and gives what it prints."""
        done = subprocess.run(
            [*self._enter, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0 or not check, f"{command}: {done.stdout}"
        return done.stdout

    def property(self, unit: str, name: str) -> str:
        return self.run("systemctl", "show", "--value", f"--property={name}", unit).strip()

    def until(self, unit: str, name: str, value: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while (present := self.property(unit, name)) != value:
            assert time.monotonic() < deadline, f"{name} of {unit} is {present}: {self.log(unit)}"
            time.sleep(_POLL_S)

    def adapt(self, unit: str) -> None:
        """No journal runs on this machine, and its Python may have been built for another place."""
        folder = self.files / f"etc/systemd/system/{unit}.d"
        folder.mkdir()
        (folder / "test.conf").write_text(
            "[Service]\nStandardOutput=append:/run/%n.log\nStandardError=inherit\n"
            f"Environment=LD_LIBRARY_PATH={_PYTHON}/lib\n"
        )

    def log(self, unit: str) -> str:
        path = self.files / f"run/{unit}.log"
        return path.read_text() if path.exists() else ""


@contextmanager
def systemd_machine(folder: Path) -> Iterator[SystemdMachine]:
    """Boots it; `folder` holds nothing later."""
    shown = [(Path(sys.base_prefix), _PYTHON), (Path(sys.prefix) / _SITE, _PACKAGES)]
    shown += [(ROOT / name, f"{CHECKOUT}/{name}") for name in _SHOWN]
    pairs = [str(path) for pair in shown for path in pair]
    boot = subprocess.Popen(
        ["unshare", "--mount", _BOOT, folder, *pairs],
        stdin=subprocess.DEVNULL,
        preexec_fn=die_with_parent(signal.SIGTERM),
    )
    try:
        machine = SystemdMachine(_first_process(boot))
        machine.until("multi-user.target", "ActiveState", "active")
        _install_metatide(machine.files)
        yield machine
    finally:
        for first in _first_processes(boot.pid):
            # All others in its namespaces end with it.
            first.kill()
        assert boot.wait(PATIENCE_S) == 0


def _first_process(boot: subprocess.Popen[bytes]) -> int:
    """The systemd of the machine, by its id on this one, once it takes orders."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        assert boot.poll() is None, "systemd didn't start: this needs root"
        assert time.monotonic() < deadline, "systemd doesn't start"
        for first in _first_processes(boot.pid):
            # Helpers of the boot come and go.
            with suppress(psutil.NoSuchProcess):
                private = Path(f"/proc/{first.pid}/root/run/systemd/private")
                if first.name() == "systemd" and private.exists():
                    return first.pid
        time.sleep(_POLL_S)


def _first_processes(boot: int) -> list[psutil.Process]:
    """Those that the children of `boot-systemd` have started."""
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(boot).children()
        return [first for child in children for first in child.children()]
    return []


def _install_metatide(files: Path) -> None:
    """The environment of these tests at another place, because units see nobody's home."""
    environment = files / "opt/metatide"
    python = Path(os.path.realpath(sys.executable)).name
    (environment / "bin").mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text(f"home = {_PYTHON}/bin\n")
    (environment / "bin/python").symlink_to(f"{_PYTHON}/bin/{python}")
    site = environment / _SITE
    site.mkdir(parents=True)
    (site / "metatide.pth").write_text(f"{CHECKOUT}\n{_PACKAGES}\n")
    script = Path(shutil.which("metatide", path=str(Path(sys.executable).parent)) or "")
    lines = script.read_text().splitlines(keepends=True)[1:]
    (environment / "bin/metatide").write_text("#!/opt/metatide/bin/python\n" + "".join(lines))
    (environment / "bin/metatide").chmod(0o755)
