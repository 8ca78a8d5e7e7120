"""What commands find of a running stack."""

import os
from pathlib import Path

import pytest

from hive.errors import InputError, MachineError
from metatide.config import Config, load
from metatide.stack.kept_secret import WORKERS_SECRET
from metatide.stack.running import completed, database_url, kafka_of, workers_secret
from metatide.stack.state import StackState, StateFile
from tests.metatide.stack_folders import write_running_stack

GIVEN = {
    "kafka": "broker-1:9092,broker-2:9092",
    "database": "postgresql://hive:***@db/hms",
    "metastore": "thrift://hms:9083",
}


def given(folder: Path) -> None:
    """A stack on the parts of somebody else."""
    StateFile(folder).write(StackState(os.getpid(), "http://127.0.0.1:8080", [], GIVEN))


def configuration(folder: Path, **environ: str) -> Config:
    named = {f"METATIDE_{name}": text for name, text in environ.items()}
    return load(environ={"METATIDE_DATA_DIR": str(folder), **named}).config


def test_what_the_stack_runs_is_found(tmp_path: Path) -> None:
    write_running_stack(tmp_path)
    config = completed(configuration(tmp_path, KAFKA_SECURITY_PROTOCOL="ssl"))
    assert config.kafka.bootstrap_servers == "127.0.0.1:9092"
    assert config.kafka.security == {"security.protocol": "plaintext"}
    assert config.upstream.url == "thrift://127.0.0.1:9083"
    url = "postgresql://metatide:p%40ss%2Fword@127.0.0.1:5432/metastore"
    assert database_url(config) == url


def test_the_secret_of_a_stack_is_for_its_own_workers_while_it_runs(tmp_path: Path) -> None:
    own = tmp_path / WORKERS_SECRET
    own.write_text("5" * 64)
    assert workers_secret(configuration(tmp_path)) is None
    write_running_stack(tmp_path)
    assert workers_secret(configuration(tmp_path)) == own
    assert completed(configuration(tmp_path)).worker.secret_file == own
    assert workers_secret(configuration(tmp_path, KAFKA_BOOTSTRAP_SERVERS="other:9092")) is None
    named = configuration(tmp_path, WORKER_SECRET_FILE="/run/secrets/workers")
    assert workers_secret(named) == Path("/run/secrets/workers")


def test_what_was_given_to_the_stack_is_found(tmp_path: Path) -> None:
    given(tmp_path)
    own = configuration(tmp_path, KAFKA_SECURITY_PROTOCOL="ssl", DATABASE_PASSWORD="hush")
    config = completed(own)
    assert config.kafka.bootstrap_servers == GIVEN["kafka"]
    assert config.kafka.security == {"security.protocol": "ssl"}
    assert config.upstream.url == GIVEN["metastore"]
    assert config.database.full_url == "postgresql://hive:hush@db/hms"


def test_a_password_that_was_given_to_the_stack_has_to_be_given_again(tmp_path: Path) -> None:
    given(tmp_path)
    config = configuration(tmp_path)
    with pytest.raises(InputError, match=r"postgresql://hive:\*\*\*@db/hms: set METATIDE_DATABASE"):
        database_url(config)
    assert kafka_of(config).bootstrap_servers == GIVEN["kafka"]


@pytest.mark.parametrize(
    "environ",
    [
        {"KAFKA_BOOTSTRAP_SERVERS": "other:9092"},
        {"DATABASE_URL": "postgresql://hive:hush@other/hms"},
    ],
)
@pytest.mark.parametrize("running", [write_running_stack, given])
def test_nothing_is_mixed_with_the_parts_of_another_cache(
    tmp_path: Path, environ: dict[str, str], running: object
) -> None:
    assert callable(running)
    running(tmp_path)
    config = configuration(tmp_path, **environ)
    assert completed(config) == config


def test_a_part_that_the_stack_was_given_goes_with_the_others(tmp_path: Path) -> None:
    given(tmp_path)
    named = configuration(tmp_path, DATABASE_URL="postgresql://me:hush@db/hms")
    assert completed(named).kafka.bootstrap_servers == GIVEN["kafka"]
    assert database_url(named) == "postgresql://me:hush@db/hms"
    servers = configuration(
        tmp_path, KAFKA_BOOTSTRAP_SERVERS="broker-2:9092", DATABASE_PASSWORD="hush"
    )
    assert database_url(servers) == "postgresql://hive:hush@db/hms"


def test_a_stack_that_tells_of_no_part_changes_nothing(tmp_path: Path) -> None:
    StateFile(tmp_path).write(StackState(os.getpid(), "http://127.0.0.1:8080", []))
    config = configuration(tmp_path)
    assert completed(config) == config


def test_a_password_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    write_running_stack(tmp_path)
    password = tmp_path / "postgres" / "password"
    password.unlink()
    with pytest.raises(MachineError, match=f"^{password} cannot be read: No such .*; run as its "):
        database_url(configuration(tmp_path))


def test_without_a_stack_it_is_said_where_one_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"no database: start `metatide up`.*{tmp_path}"):
        database_url(configuration(tmp_path))
