"""The units of deploy/systemd, on a systemd."""

import json
import re
import signal
import textwrap
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
import pytest
import sqlalchemy as sa

from metatide.demo.store import Store
from metatide.stack.machine import LOOPBACK, free_port
from metatide.stack.ports import Ports
from tests.deploy.systemd_machine import CHECKOUT, PATIENCE_S, ROOT, SystemdMachine
from tests.support import local_http
from tests.support.kafka.guarded import PASSWORD, GuardedKafka
from tests.support.kafka.topics import new_topic
from tests.support.processes import open_folder, running
from tests.support.secrets_in_logs import assert_untold

pytestmark = [pytest.mark.systemd, pytest.mark.by_turns(2, of="stacks")]

CONNECTOR, WORKER = "metatide-connector.service", "metatide-worker@first.service"
PAGE = ROOT / "docs" / "bare-machines.md"
WORKERS_SECRET = "LoadCredential=workers-secret:/etc/metatide/credentials/workers-secret\n"
NOWHERE = "127.0.0.1:1"
EXPOSURE_MAX = 1.5
"""Of ten, as `systemd-analyze security` counts; what has none isn't reached over a network."""


def install(machine: SystemdMachine, settings: str, password: str) -> None:
    """As docs/bare-machines.md says."""
    machine.run(f"{CHECKOUT}/deploy/systemd/install")
    etc = machine.files / "etc/metatide"
    (etc / "metatide.toml").write_text(settings)
    for name, text in (("database-password", password), ("workers-secret", "tide" * 8)):
        (etc / "credentials" / name).write_text(text)
        (etc / "credentials" / name).chmod(0o600)
    for unit in ("metatide-connector.service", "metatide-worker@.service"):
        machine.adapt(unit)
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "start", "dbus.socket")


def command(machine: SystemdMachine, *arguments: str) -> str:
    """What a command prints that root gives."""
    of_worker = "METATIDE_WORKER_NAME=first"
    return machine.run("env", of_worker, "/usr/local/sbin/metatide", *arguments)


def unreachable() -> str:
    return f'[kafka]\nbootstrap_servers = "{NOWHERE}"\n[database]\nurl = "postgresql://u@{NOWHERE}/m"\n'


def test_the_units_are_sound_and_hardened(machine: SystemdMachine) -> None:
    install(machine, unreachable(), "secret")
    assert machine.run("systemd-analyze", "verify", CONNECTOR, WORKER) == ""
    for unit in (CONNECTOR, WORKER):
        limit = f"--threshold={EXPOSURE_MAX * 10:.0f}"
        machine.run("systemd-analyze", "security", "--no-pager", limit, unit)


def test_they_run_end_and_start_again(
    kafka_broker: str, new_database: Callable[[], str], machine: SystemdMachine
) -> None:
    topic = new_topic(kafka_broker, 2)
    url = sa.make_url(new_database())
    Store(url.render_as_string(hide_password=False)).engine.dispose()
    worker_port, connector_port = free_port(), free_port()
    shown = url.set(drivername="postgresql", password=None).render_as_string()
    settings = (
        f'[kafka]\nbootstrap_servers = "{topic.servers}"\ntopic = "{topic.name}"\npartitions = 2\n'
        f'[database]\nurl = "{shown}"\n[connect]\nport = {connector_port}\n'
        # It leads to this machine, and isn't known as a name of it.
        '[worker]\nadvertised_host = "127.1"\n'
    )
    assert url.password is not None
    install(machine, settings, str(url.password))
    (machine.files / "etc/metatide/worker-first.env").write_text(
        f"METATIDE_WORKER_PORT={worker_port}\n"
    )
    machine.run("systemctl", "start", CONNECTOR, WORKER)
    until_answers(machine, CONNECTOR, f"http://{LOOPBACK}:{connector_port}/healthz")
    ready = f"http://{LOOPBACK}:{worker_port}/readyz"
    until_answers(machine, WORKER, ready)
    for unit in (CONNECTOR, WORKER):
        assert_confined(machine, unit)
    assert "all 2 shards have applied the order" in command(machine, "admin", "pause")
    [state] = {shard["paused"] for shard in json.loads(command(machine, "admin", "show", "--json"))}
    assert state is True
    process = process_of(machine, WORKER)
    process.send_signal(signal.SIGKILL)
    machine.until(WORKER, "NRestarts", "1")
    until_answers(machine, WORKER, ready)
    machine.run("systemctl", "stop", CONNECTOR, WORKER)
    for unit in (CONNECTOR, WORKER):
        assert machine.property(unit, "ActiveState") == "inactive"
        assert machine.property(unit, "Result") == "success"
        assert str(url.password) not in machine.log(unit)


def until_answers(machine: SystemdMachine, unit: str, url: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_well(url):
        assert time.monotonic() < deadline, machine.log(unit)
        time.sleep(0.1)


def is_well(url: str) -> bool:
    try:
        return local_http.get(url, timeout=5).is_success
    except httpx.TransportError:
        return False


def assert_confined(machine: SystemdMachine, unit: str) -> None:
    process = process_of(machine, unit)
    status = dict(
        line.split(":\t") for line in Path(f"/proc/{process.pid}/status").read_text().splitlines()
    )
    assert process.uids().real != 0
    assert {int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == {0}
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    folder = machine.files / "var/lib/metatide"
    assert (folder.stat().st_uid, folder.stat().st_mode & 0o777) == (process.uids().real, 0o700)


def process_of(machine: SystemdMachine, unit: str) -> psutil.Process:
    """The main process, by its id on this machine."""
    within = machine.property(unit, "MainPID")
    for process in psutil.process_iter():
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        ids = next(line.split()[1:] for line in lines if line.startswith("NSpid:"))
        if len(ids) > 1 and ids[-1] == within:
            return process
    raise AssertionError(f"{unit} has no process {within}")


def test_a_wrong_setting_is_not_tried_again(machine: SystemdMachine) -> None:
    install(machine, unreachable() + "[worker]\nfluhs_s = 1\n", "secret")
    machine.run("systemctl", "start", WORKER)
    machine.until(WORKER, "ActiveState", "failed")
    assert machine.property(WORKER, "NRestarts") == "0"
    assert "worker.flush_s" in machine.log(WORKER)


def drop_ins() -> list[str]:
    """The pieces of units on the page: for the brokers' password, and for no password."""
    blocks = re.findall(r"^(?: {6}\S.*\n)+", PAGE.read_text(), flags=re.MULTILINE)
    return [textwrap.dedent(block) for block in blocks]


def test_what_the_page_adds_to_the_units(
    new_database: Callable[[], str], machine: SystemdMachine
) -> None:
    machine.run(f"{CHECKOUT}/deploy/systemd/install")
    etc = machine.files / "etc/metatide"
    assert tomllib.loads((etc / "metatide.toml").read_text())["thrift"]["port"]
    of_brokers, without_password = drop_ins()
    url = sa.make_url(new_database())
    Store(url.render_as_string(hide_password=False)).engine.dispose()
    shown = url.set(drivername="postgresql", password=None).render_as_string()
    with open_folder() as folder:
        kafka = GuardedKafka(folder, Ports(folder / "ports.json"), ("me",))
        settings = (
            f'[kafka]\nbootstrap_servers = "{kafka.address}"\npartitions = 2\n'
            'security_protocol = "sasl_plaintext"\nsasl_mechanism = "PLAIN"\n'
            f'sasl_username = "me"\n[connect]\nport = {free_port()}\n'
            f'[database]\nurl = "{shown}"\npassword_command = "echo {url.password}"\n'
        )
        install(machine, settings, "unused")
        assert (etc / "metatide.toml").read_text() == settings
        machine.run(f"{CHECKOUT}/deploy/systemd/install")
        assert (etc / "metatide.toml").read_text() == settings
        (etc / "credentials/kafka-password").write_text(PASSWORD)
        ports = {}
        for unit in ("metatide-connector.service", "metatide-worker@.service"):
            added = machine.files / f"etc/systemd/system/{unit}.d"
            own = without_password
            if unit == "metatide-connector.service":
                own = own.replace(WORKERS_SECRET, "")
            (added / "override.conf").write_text(f"{own}{of_brokers}")
        for name in ("first", "second"):
            ports[name] = free_port()
            (etc / f"worker-{name}.env").write_text(f"METATIDE_WORKER_PORT={ports[name]}\n")
        machine.run("systemctl", "daemon-reload")
        units = [f"metatide-worker@{name}.service" for name in ports]
        with running(kafka, folder / "log"):
            machine.run("systemctl", "start", CONNECTOR, *units)
            for unit, port in zip(units, ports.values(), strict=True):
                until_answers(machine, unit, f"http://{LOOPBACK}:{port}/readyz")
            checks = [
                json.loads(line) for line in command(machine, "doctor", "--json").splitlines()
            ]
            assert {check["status"] for check in checks} == {"ok", "not checked"}
            for unit in (CONNECTOR, *units):
                environ = Path(f"/proc/{process_of(machine, unit).pid}/environ").read_text()
                assert "METATIDE_DATABASE_PASSWORD_FILE" not in environ
                assert "METATIDE_KAFKA_SASL_PASSWORD_FILE=" in environ
            machine.run("systemctl", "stop", CONNECTOR, *units)
    assert_untold(
        [PASSWORD, str(url.password)], {unit: machine.log(unit) for unit in (CONNECTOR, *units)}
    )
