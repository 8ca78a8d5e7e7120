"""What all of librdkafka's clients have in common."""

import logging
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from hive.errors import InputError
from state.topic.aws import signed_tokens
from state.topic.kerberos import hold_ticket

REQUEST_TIMEOUT_S: Final = 10.0
"""How long a request may take: on a busy machine a broker may not answer for several seconds."""
WAITED_S_MAX: Final = 4.0
"""The same for a thread that waits for brokers and may be told to end within five seconds."""

RECORD_BYTES_MAX: Final = 16 * 1024 * 1024
"""The largest record that the topic takes, and the most that a producer sends at once."""

# Otherwise librdkafka writes connection errors to stderr, though failed requests say why.
QUIET: Final = logging.getLogger(__name__)
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False

Security = Mapping[str, str]
"""TLS and SASL in librdkafka's words, if it has some, and the properties of
`state.topic.properties`; `processors.consumer.credentials` translates them for Faust, and
`processors.spark.kafka_source` for Spark."""


_BY_TICKET: Final = {
    "sasl.mechanism": "GSSAPI",
    # Otherwise it would run kinit.
    "sasl.kerberos.min.time.before.relogin": "0",
}


def client_settings(servers: str, security: Security) -> dict[str, Any]:
    """The settings that reach the brokers. Raises TopicError without a ticket that is needed."""
    return {
        "bootstrap.servers": servers,
        "reconnect.backoff.max.ms": "1000",
        # Only connectors create topics, with settings of their own.
        "allow.auto.create.topics": "false",
        **_login(security),
    }


def admin_client(servers: str, security: Security, logger: logging.Logger = QUIET) -> AdminClient:
    """Raises InputError for settings that librdkafka can't use, such as a file that isn't there."""
    settings = client_settings(servers, security)
    try:
        return AdminClient(settings, logger=logger)
    except KafkaException as error:
        raise InputError(
            f"no client of Kafka can be made of the configuration (kafka.*): {reason(error)}"
        ) from None


def _login(security: Security) -> dict[str, Any]:
    own: dict[str, Any] = dict(security)
    mechanism = security.get("sasl.mechanism")
    if mechanism == "GSSAPI":
        _require_kerberos()
        hold_ticket(security["sasl.kerberos.principal"], own.pop("sasl.kerberos.keytab"))
        own |= _BY_TICKET
    elif mechanism == "AWS_MSK_IAM":
        own |= {
            "sasl.mechanism": "OAUTHBEARER",
            "oauth_cb": signed_tokens(own.pop("sasl.aws.region")),
        }
    return own


@cache
def _require_kerberos() -> None:
    """Raises InputError if librdkafka was built without Kerberos, as that of the wheels is."""
    try:
        AdminClient({"security.protocol": "sasl_plaintext", **_BY_TICKET}, logger=QUIET)
    except KafkaException as error:
        raise InputError(
            f"kafka.sasl_mechanism is GSSAPI, which this confluent-kafka can't: {reason(error)}; "
            "install one that is compiled here (pip install --no-binary confluent-kafka "
            "confluent-kafka) with a librdkafka that has libsasl2"
        ) from None


def reason(error: KafkaException | KafkaError) -> str:
    """The error as a short text; a broker may give it a name alone."""
    fault = error.args[0] if isinstance(error, KafkaException) else error
    text = str(fault.str())
    return f"{text}{fault.name()}" if text.endswith(": ") else text
