import os
import pwd
import socket
from pathlib import Path

import pytest

from hive.errors import MachineError
from metatide.stack.java import find_java
from metatide.stack.logs import LOG_BYTES_MAX, LogFile
from metatide.stack.machine import LOOPBACK, folder_aside, free_port, require_port, require_room
from metatide.stack.ports import Ports
from state.folders import make_folder
from tests.support.processes import open_folder


def test_ports_stay_the_same_from_run_to_run(tmp_path: Path) -> None:
    first = Ports(tmp_path / "ports.json")
    taken = [first.take("a"), first.take("b")]
    second = Ports(tmp_path / "ports.json")
    assert [second.take("a"), second.take("b")] == taken
    assert len(set(taken)) == 2


def test_a_port_that_somebody_took_is_replaced(tmp_path: Path) -> None:
    port = Ports(tmp_path / "ports.json").take("a")
    with socket.create_server((LOOPBACK, port)):
        other = Ports(tmp_path / "ports.json").take("a")
    assert other != port
    assert Ports(tmp_path / "ports.json").take("a") == other


@pytest.mark.parametrize("torn", ["", '{"a":2000', "[]"])
def test_torn_notes_of_ports_are_written_anew(tmp_path: Path, torn: str) -> None:
    (tmp_path / "ports.json").write_text(torn)
    port = Ports(tmp_path / "ports.json").take("a")
    assert Ports(tmp_path / "ports.json").take("a") == port


def test_a_port_in_use_is_named_with_its_option() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(MachineError, match=rf"port {port} .* is in use; .* --http-port"):
            require_port(port, "--http-port")
    require_port(port, "--http-port")


def test_a_port_of_ipv6_is_looked_at() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        port = server.getsockname()[1]
        for host in ("::1", "::"):
            with pytest.raises(MachineError, match=rf"^port {port} on {host} is in use; "):
                require_port(port, "worker.port", host)
        require_port(port, "worker.port", LOOPBACK)
    require_port(port, "worker.port", "::")


# Addresses and names of documentation.
@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "nowhere.invalid"])
def test_a_host_that_is_not_this_machine_is_one_line(host: str) -> None:
    with pytest.raises(MachineError, match=rf"^nothing can listen on {host}: .*; choose a host"):
        require_port(free_port(), "worker.port", host)


def test_room_on_disk_is_counted(tmp_path: Path) -> None:
    require_room(tmp_path, 1)
    with pytest.raises(MachineError, match=f"{tmp_path} has .* MiB free"):
        require_room(tmp_path, 1 << 60)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MachineError, match=r"cannot create the folder .*file/data"):
        make_folder(tmp_path / "file" / "data")


def test_a_folder_that_we_may_not_write_in_is_named() -> None:
    with open_folder() as folder:
        folder.chmod(0o555)
        root = os.geteuid() == 0
        if root:
            os.seteuid(pwd.getpwnam("nobody").pw_uid)
        try:
            with pytest.raises(MachineError, match=f"cannot write in the folder {folder}; "):
                make_folder(folder)
        finally:
            if root:
                os.seteuid(0)


def test_a_log_cannot_grow_without_end(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "one.log")
    with log.open() as stream:
        stream.write(b"x" * LOG_BYTES_MAX + b"\n")
        stream.flush()
        log.bound()
        stream.write(b"goes on\n")
    assert log.path.read_bytes() == b"goes on\n"
    assert (tmp_path / "one.log.1").stat().st_size == LOG_BYTES_MAX + 1
    assert log.last_words().startswith(": goes on")
    assert LogFile(tmp_path / "two.log").last_words() == ""


def java(folder: Path, says: str) -> str:
    """A JAVA_HOME whose java says this of its version."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    program.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("says", "fault"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "is Java 11, which is too old"),
        ('java version "1.8.0_292"', "is Java 8, which is too old"),
        ("hello", "does not say its version"),
    ],
)
def test_an_old_java_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, fault: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, says))
    with pytest.raises(MachineError, match=rf"{fault}.*install Java 17 or newer"):
        find_java()


def test_java_home_goes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, 'openjdk version "25" 2025-09-16'))
    assert find_java() == tmp_path / "bin" / "java"


def test_a_java_that_does_not_run_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(java(tmp_path, ""), "bin", "java").chmod(0o644)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MachineError, match=r"java does not run \(Permission denied\); install"):
        find_java()


def test_no_java_at_all_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match="no java on the PATH; install Java 17"):
        find_java()


def test_a_folder_aside_is_new_and_the_only_one(tmp_path: Path) -> None:
    target = tmp_path / "data"
    first = folder_aside(target)
    first.mkdir()
    (first / "half").touch()
    second = folder_aside(target)
    assert second != first
    assert list(tmp_path.iterdir()) == []
