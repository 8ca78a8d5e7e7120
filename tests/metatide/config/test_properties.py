"""Which properties of librdkafka are taken, and why others are refused."""

import inspect

import faust
import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, KafkaException

from hive.errors import InputError
from metatide.config import load
from metatide.config.kafka import Kafka
from metatide.config.properties import LACKING, OURS, OWN_KEYS
from processors.consumer.credentials import consumer_settings
from processors.spark.kafka_source import java_words
from state.topic.properties import EQUALS, RACK
from state.topic.settings import QUIET

VARIABLE = "METATIDE_KAFKA_PROPERTIES"
TAKEN = "client.rack=eu-1a, connections.max.idle.ms=180000,topic.metadata.refresh.interval.ms=60000"


def refusal(text: str) -> str:
    with pytest.raises(InputError) as refused:
        load(environ={VARIABLE: text})
    return str(refused.value)


def librdkafka_says(name: str) -> str | None:
    """Why it refuses a property with a value that none has."""
    try:
        Consumer({"group.id": "any", name: "\n"}, logger=QUIET).close()
    except KafkaException as error:
        return str(error.args[0].str())
    return None


def test_each_library_gets_them_in_its_own_words() -> None:
    security = load(environ={VARIABLE: TAKEN}).config.kafka.security
    assert security == {
        "security.protocol": "plaintext",
        "client.rack": "eu-1a",
        "connections.max.idle.ms": "180000",
        "topic.metadata.refresh.interval.ms": "60000",
    }
    assert consumer_settings(security) == {
        "consumer_connections_max_idle_ms": 180_000,
        "consumer_metadata_max_age_ms": 60_000,
    }
    assert java_words(security) == {
        "security.protocol": "PLAINTEXT",
        "client.rack": "eu-1a",
        "connections.max.idle.ms": "180000",
        "metadata.max.age.ms": "60000",
    }


def test_logins_with_tokens_are_told_in_the_words_of_java() -> None:
    aws = "software.amazon.msk.auth.iam"
    assert java_words({"sasl.mechanism": "AWS_MSK_IAM"}) == {
        "sasl.mechanism": "AWS_MSK_IAM",
        "sasl.jaas.config": f"{aws}.IAMLoginModule required;",
        "sasl.client.callback.handler.class": f"{aws}.IAMClientCallbackHandler",
    }
    words = "sasl.oauthbearer."
    own = {"client.id": "w", "client.secret": "s", "scope": "kafka", "token.endpoint.url": "https"}
    login = {words + name: value for name, value in own.items()}
    login |= {"sasl.mechanism": "OAUTHBEARER", "https.ca.location": "/ca.pem"}
    assert java_words(login)["sasl.jaas.config"].partition(" required ")[2] == (
        'clientId="w" clientSecret="s" scope="kafka" '
        'ssl.truststore.type="PEM" ssl.truststore.location="/ca.pem";'
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("client.rack", "expected NAME=VALUE, or several with commas in between"),
        ("client.rack=", "client.rack takes a word of at most 255 characters"),
        ("client.rack=a b", "client.rack takes a word of at most 255 characters"),
        ("client.rack=a,client.rack=b", "a property occurs twice"),
        ("connections.max.idle.ms=999", "takes milliseconds from 1000 to 3600000"),
        ("connections.max.idle.ms=soon", "takes milliseconds from 1000 to 3600000"),
        ("sasl.password=hush", "sasl.password has a key of its own: kafka.sasl_password"),
        ("ssl.key.pem=hush", "ssl.key.pem has a key of its own: kafka.ssl_key_location"),
        ("client.id=hush", "client.id is set by Metatide itself"),
        ("client.dns.lookup=hush", "aiokafka, by which workers follow, has no equal of it"),
        ("socket.nagle.disable=hush", "Kafka's Java client, by which Spark reads, has no equal"),
        (
            "retry.backoff.ms=hush",
            "Faust, which gives aiokafka its settings in workers, has no equal",
        ),
        ("sasl.secret=hush", "sasl.secret isn't one of the properties that all three libraries"),
    ],
)
def test_others_are_refused_by_name_and_their_values_are_not_shown(text: str, why: str) -> None:
    said = refusal(text)
    assert said.startswith(f"{VARIABLE}: the value is wrong: ")
    assert why in said
    assert "hush" not in said


def test_all_that_are_known_are_properties_of_librdkafka() -> None:
    assert "No such configuration property" in str(librdkafka_says("client.racks"))
    # librdkafka believes any name of a group, and ends the process.
    for name in {*EQUALS, *OURS, *LACKING, *OWN_KEYS} - {"group.id"}:
        assert "No such configuration property" not in str(librdkafka_says(name)), name


def test_aiokafka_has_those_that_are_taken_and_lacks_what_is_said_so() -> None:
    parameters = inspect.signature(AIOKafkaConsumer).parameters
    assert {equal.aiokafka for equal in EQUALS.values()} <= parameters.keys()
    lacking = [name for name, who in LACKING.items() if who.startswith("aiokafka")]
    assert lacking
    assert not {name.replace(".", "_") for name in lacking} & parameters.keys()


def test_none_that_libraries_share_is_refused_as_if_they_had_it_not() -> None:
    names = {name.replace("_", ".") for name in inspect.signature(AIOKafkaConsumer).parameters}
    shared = {
        name
        for name in names - {"group.id"}
        if "No such configuration property" not in str(librdkafka_says(name))
    }
    assert len(shared) > 20
    assert shared <= {*EQUALS, *OURS, *LACKING, *OWN_KEYS}


def test_faust_has_those_that_are_taken_and_lacks_what_is_said_so() -> None:
    settings = {*dir(faust.Settings)}
    taken = {f"consumer_{equal.aiokafka}" for name, equal in EQUALS.items() if name != RACK}
    assert taken <= settings
    lacking = [name for name, who in LACKING.items() if who.startswith("Faust")]
    assert lacking
    assert not {f"consumer_{name.replace('.', '_')}" for name in lacking} & settings


def test_each_key_that_says_how_to_reach_brokers_stands_for_its_property() -> None:
    words = ("bootstrap_", "security_", "sasl_", "ssl_", "https_")
    keys = {name for name in Kafka.__struct_fields__ if name.startswith(words)}
    assert keys - {"sasl_aws_region"} == set(OWN_KEYS.values())
