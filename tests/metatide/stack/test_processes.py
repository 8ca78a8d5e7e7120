"""Which processes a stack has, and what each of them is told."""

from pathlib import Path

import pytest

from hive.errors import InputError
from metatide.config import load
from metatide.stack.kept_secret import WORKERS_SECRET
from metatide.stack.ports import Ports
from metatide.stack.processes import Ours, services


def test_the_first_worker_has_the_port_for_http_and_the_others_free_ones(tmp_path: Path) -> None:
    environ = {
        "METATIDE_DATA_DIR": str(tmp_path),
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "METATIDE_DATABASE_URL": "postgresql://hive@127.0.0.1:1/metastore",
        "METATIDE_THRIFT_PORT": "9083",
        "METATIDE_THRIFT_HTTP_PORT": "9084",
        "METATIDE_WORKERS": "3",
    }
    effective = load(environ=environ)
    ports = {
        service.name: service.prepare().full_environment()["METATIDE_THRIFT_HTTP_PORT"]
        for service in services(effective, Ports(tmp_path / "ports.json"))
        if service.name.startswith("worker")
    }
    assert ports == {"worker-1": "9084", "worker-2": "0", "worker-3": "0"}


def test_workers_know_each_other_by_the_configured_secret(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    environ = {
        "METATIDE_DATA_DIR": str(tmp_path / "data"),
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "METATIDE_DATABASE_URL": "postgresql://hive@127.0.0.1:1/metastore",
        "METATIDE_WORKER_SECRET_FILE": str(secret),
    }
    (tmp_path / "data").mkdir()
    effective = load(environ=environ)
    workers = [
        service.prepare().full_environment()
        for service in services(effective, Ports(tmp_path / "ports.json"))
        if service.name.startswith("worker")
    ]
    assert {worker["METATIDE_WORKER_SECRET_FILE"] for worker in workers} == {str(secret)}
    assert not (tmp_path / "data" / WORKERS_SECRET).exists()


def test_a_metastore_cannot_be_in_a_folder_with_a_colon(tmp_path: Path) -> None:
    environ = {
        "METATIDE_DATA_DIR": str(tmp_path / "a:b"),
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "METATIDE_DATABASE_URL": "postgresql://hive@127.0.0.1:1/metastore",
        "METATIDE_METASTORE": "true",
    }
    with pytest.raises(InputError, match="its name has a colon"):
        services(load(environ=environ), Ports(tmp_path / "ports.json"))


@pytest.mark.parametrize(
    ("host", "near"), [("::1", "[::1]"), ("::", "[::1]"), ("0.0.0.0", "127.0.0.1"), ("h", "h")]
)
def test_addresses_of_processes_can_be_asked(host: str, near: str, tmp_path: Path) -> None:
    sections = ("HTTP", "WORKER", "CONNECT", "THRIFT")
    environ = {
        "METATIDE_DATA_DIR": str(tmp_path),
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": "[::1]:1",
        "METATIDE_DATABASE_URL": "postgresql://hive@127.0.0.1:1/metastore",
        "METATIDE_THRIFT_PORT": "9083",
        **{f"METATIDE_{section}_HOST": host for section in sections},
    }
    ours = services(load(environ=environ), Ports(tmp_path / "ports.json"))
    assert {service.address.rpartition(":")[0] for service in ours} == {f"http://{near}"}
    assert [each.thrift for each in ours if isinstance(each, Ours) and each.thrift is not None] == [
        f"thrift://{near}:9083"
    ]
