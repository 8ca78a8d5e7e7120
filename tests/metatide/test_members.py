"""What is said of workers that can't be checked."""

from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from confluent_kafka import KafkaError, KafkaException

from hive.errors import InputError, MachineError, MetatideError, UnprovedError
from metatide.cli import root
from metatide.config import Config, load
from metatide.members import json_of, members, worker_client, worker_urls


class Group:
    """A topic whose broker gives these answers to questions for the members of a group."""

    servers = "broker:9092"

    def __init__(self, *answers: KafkaException | list[str]) -> None:
        self._answers = [*answers]

    def admin(self) -> "Group":
        return self

    def describe_consumer_groups(self, groups: list[str], **_: float) -> dict[str, Future[Any]]:
        future = Future[Any]()
        match self._answers.pop(0):
            case [*names]:
                described = [SimpleNamespace(client_id=f"{name}@{name}:1") for name in names]
                future.set_result(SimpleNamespace(members=described))
            case error:
                future.set_exception(error)
        return {groups[0]: future}


def fault(code: int) -> KafkaException:
    # As librdkafka says what has no text of the broker.
    return KafkaException(KafkaError(code, "ConsumerGroupDescribe: "))


def test_members_are_found_while_their_coordinator_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("metatide.members._LOOK_S", 0)
    moving = fault(KafkaError.NOT_COORDINATOR), fault(KafkaError.COORDINATOR_LOAD_IN_PROGRESS)
    topic: Any = Group(*moving, ["b", "a"])
    assert [*members(topic, "metatide")] == [("a", "a:1"), ("b", "b:1")]
    monkeypatch.setattr("metatide.members.REQUEST_TIMEOUT_S", -1)
    topic = Group(*moving)
    with pytest.raises(
        MachineError,
        match=r"^Kafka at broker:9092 .*: NOT_COORDINATOR; check --kafka and the brokers$",
    ):
        [*members(topic, "metatide")]


def test_a_group_that_may_not_be_seen_is_said_at_once() -> None:
    topic: Any = Group(fault(KafkaError.GROUP_AUTHORIZATION_FAILED))
    with pytest.raises(
        MachineError, match=r": GROUP_AUTHORIZATION_FAILED; check --kafka and the brokers$"
    ):
        worker_urls(Config(), topic, "metatide")


def test_a_group_without_workers_is_wrong_input() -> None:
    topic: Any = Group([])
    with pytest.raises(InputError, match=r"^group metatide has no members: start a worker"):
        worker_urls(Config(), topic, "metatide")


@pytest.mark.parametrize(
    ("status", "kind", "body", "says"),
    [
        (503, MachineError, "<html>", "Service Unavailable"),
        (404, InputError, "[]", "Not Found"),
        (409, InputError, '{"detail": "no"}', "no"),
    ],
)
def test_a_problem_of_a_worker_is_said_in_its_words(
    status: int, kind: type[MetatideError], body: str, says: str
) -> None:
    request = httpx.Request("GET", "http://w/v1/status?a=b")
    with pytest.raises(kind, match=f"^http://w/v1/status: {says}$"):
        json_of(httpx.Response(status, text=body, request=request))


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_used_are_named_with_their_key(
    tmp_path: Path, content: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("METATIDE_READS_TLS_CA", str(path))
    config = load({"data_dir": str(tmp_path)}).config
    with pytest.raises(InputError, match=f"^reads.tls_ca: {path} can't be used: "):
        worker_client(config, 1.0)
    result = CliRunner().invoke(root, ["get", "databases", "--server", "https://127.0.0.1:1"])
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith(f"reads.tls_ca: {path} can't be used: ")


def test_a_token_without_anything_that_proves_a_worker_is_wrong_input(
    tmp_path: Path, workers_secret: Path
) -> None:
    environ = {"METATIDE_CLIENT_TOKEN": "mine", "METATIDE_DATA_DIR": str(tmp_path)}
    with_secret = environ | {"METATIDE_WORKER_SECRET_FILE": str(workers_secret)}
    for named, kind in ((environ, InputError), (with_secret, UnprovedError)):
        with (
            worker_client(load(environ=named).config, 1.0) as client,
            pytest.raises(MetatideError, match=r"isn't sent client\.token") as refused,
        ):
            client.get("http://127.0.0.1:1")
        assert type(refused.value) is kind
