"""What a server says that can't listen where the configuration says."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from hive.errors import MachineError
from metatide.cli import root

# Of a network that is for documentation alone.
ELSEWHERE = "192.0.2.1"
SERVE = ("serve", "--from-images", "--images")


@pytest.fixture(name="taken")
def _taken() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield str(server.getsockname()[1])


def fault(tmp_path: Path, *command: str, **variables: str) -> str:
    environment = {
        "METATIDE_DATA_DIR": str(tmp_path / "data"),
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "METATIDE_DATABASE_URL": "postgresql://hive@127.0.0.1:1/metastore",
        **variables,
    }
    images = [str(tmp_path)] if command == SERVE else []
    done = CliRunner().invoke(root, [*command, *images], env=environment)
    assert isinstance(done.exception, MachineError)
    return str(done.exception)


@pytest.mark.parametrize(
    ("command", "key"),
    [
        (("work",), "worker.port"),
        (("work",), "thrift.port"),
        (("work",), "thrift.http_port"),
        (SERVE, "http.port"),
    ],
)
def test_a_port_in_use_is_named(
    command: tuple[str, ...], key: str, taken: str, tmp_path: Path
) -> None:
    variables = {"METATIDE_UPSTREAM_URL": "thrift://127.0.0.1:1", "METATIDE_THRIFT_PORT": "0"}
    variables[f"METATIDE_{key.replace('.', '_').upper()}"] = taken
    assert f"port {taken} on 127.0.0.1 is in use; " in (
        said := fault(tmp_path, *command, **variables)
    )
    assert said.endswith(f" {key}")


@pytest.mark.parametrize(
    ("command", "key"), [(("work",), "worker"), (("work",), "thrift"), (SERVE, "http")]
)
def test_an_address_of_another_machine_is_named(
    command: tuple[str, ...], key: str, tmp_path: Path
) -> None:
    variables = {"METATIDE_UPSTREAM_URL": "thrift://127.0.0.1:1", "METATIDE_THRIFT_PORT": "0"}
    variables[f"METATIDE_{key.upper()}_HOST"] = ELSEWHERE
    said = fault(tmp_path, *command, **variables)
    assert said.startswith(f"nothing can listen on {ELSEWHERE}: ")
