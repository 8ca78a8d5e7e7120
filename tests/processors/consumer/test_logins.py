"""One description of a login reaches a real broker through each of the three libraries."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    NewTopic,
)
from pyspark.sql import SparkSession

from metatide.config import load
from metatide.doctor import Finding, Status, Target, kafka
from metatide.stack import jars
from metatide.stack.kafka import KafkaProbe
from processors.consumer.credentials import credentials
from processors.consumer.login import login_fault
from processors.spark.kafka_source import source_options
from state.topic import Topic
from state.topic.settings import QUIET, Security
from tests.support.kafka.many_logins import MECHANISMS, USER, ManyLogins, many_logins
from tests.support.locked_packages import package_folder
from tests.support.secrets_in_logs import assert_untold

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(4, of="logins")]

WRONG = "a-wrong-one"
TIMEOUT_S = 5.0


@pytest.fixture(scope="module")
def broker() -> Iterator[ManyLogins]:
    with many_logins() as started:
        yield started


@pytest.fixture(params=MECHANISMS)
def mechanism(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def security_of(environ: dict[str, str]) -> Security:
    return load(environ=environ).config.kafka.security


def test_each_library_of_a_process_logs_in(broker: ManyLogins, mechanism: str) -> None:
    security = security_of(broker.login(mechanism))
    assert KafkaProbe(broker.address, security).fault() is None
    assert login_fault(broker.address, security, TIMEOUT_S) is None


def test_a_wrong_secret_is_refused_by_both_and_told_by_none(
    broker: ManyLogins, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    security = security_of(broker.login(mechanism, WRONG))
    fault = login_fault(broker.address, security, TIMEOUT_S)
    target = Target(broker.address, "any", 1, None, None, security=security)
    finding = kafka.reachable(target)
    assert finding.status is Status.FAILED
    if mechanism == "OAUTHBEARER":
        assert fault is not None
        assert "issues no token: it answers 401" in fault
    else:
        for text in (fault, finding.detail):
            assert text is not None
            assert "Authentication failed" in text
    shown = f"{fault}{finding.detail}{caplog.text}"
    assert_untold([WRONG], {"what is said": shown})


@pytest.mark.parametrize("claim", ["audience", "key_id"])
def test_a_token_for_others_or_by_an_unknown_key_is_refused(
    broker: ManyLogins, monkeypatch: pytest.MonkeyPatch, claim: str
) -> None:
    monkeypatch.setattr(broker.issuer, claim, "another")
    security = security_of(broker.login("OAUTHBEARER"))
    assert KafkaProbe(broker.address, security).fault() is not None
    fault = login_fault(broker.address, security, TIMEOUT_S)
    assert fault == "the brokers end the connection: is the login right?"


@pytest.mark.parametrize(
    ("check", "library"),
    [
        (kafka.reachable_by_workers, "aiokafka, by which workers follow"),
        (kafka.reachable_by_spark, "Kafka's Java client, by which Spark reads"),
    ],
)
def test_the_doctor_names_the_library_that_fails(
    broker: ManyLogins,
    monkeypatch: pytest.MonkeyPatch,
    check: Callable[[Target], Finding],
    library: str,
) -> None:
    jars.fetch("spark")
    security = security_of(broker.login("OAUTHBEARER"))
    target = Target(broker.address, "any", 1, None, None, security=security)
    assert check(target).status is Status.OK
    monkeypatch.setattr(broker.issuer, "audience", "another")
    finding = check(target)
    assert finding.status is Status.FAILED
    assert f"doesn't answer {library}: " in finding.detail


def test_a_token_of_aws_reaches_a_broker_which_refuses_it(
    broker: ManyLogins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(package_folder("msk", 1))])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", WRONG)
    common = broker.environment(USER)
    login = {name: text for name, text in common.items() if "SASL_" not in name}
    aws = {"SECURITY_PROTOCOL": "sasl_plaintext", "SASL_MECHANISM": "AWS_MSK_IAM"}
    aws["SASL_AWS_REGION"] = "eu-central-1"
    security = security_of(login | {f"METATIDE_KAFKA_{name}": text for name, text in aws.items()})
    target = Target(broker.address, "any", 1, None, None, security=security)
    assert "invalid_token" in kafka.reachable(target).detail
    fault = login_fault(broker.address, security, TIMEOUT_S)
    assert fault == "the brokers end the connection: is the login right?"
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert "no login at AWS" in str(login_fault(broker.address, security, TIMEOUT_S))


def test_a_token_is_used_again_while_it_lives(broker: ManyLogins) -> None:
    before = len(broker.issuer.tokens)
    tokens = credentials(security_of(broker.login("OAUTHBEARER"))).oauth_cb

    async def ask() -> set[str]:
        return {await tokens.token() for _ in range(3)}

    assert len(asyncio.run(ask())) == 1
    assert len(broker.issuer.tokens) == before + 1


@pytest.mark.spark
def test_spark_logs_in(broker: ManyLogins, kafka_spark: SparkSession, mechanism: str) -> None:
    security = security_of(broker.login(mechanism))
    topic = Topic(broker.address, f"spark-{mechanism}", 1, security)
    admin = AdminClient({"bootstrap.servers": broker.address, **security}, logger=QUIET)
    for created in admin.create_topics([NewTopic(topic.name, 1, 1)]).values():
        created.result(30)
    rows = kafka_spark.read.format("kafka").options(**source_options(topic)).load()
    assert rows.count() == 0
    assert json.loads(rows.schema.json())["fields"][0]["name"] == "key"
