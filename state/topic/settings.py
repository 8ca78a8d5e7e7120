"""What all of librdkafka's clients have in common."""

import logging
from collections.abc import Mapping
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

REQUEST_TIMEOUT_S: Final = 10.0
"""How long a request may take: on a busy machine a broker may not answer for several seconds."""

RECORD_BYTES_MAX: Final = 16 * 1024 * 1024
"""The largest record that the topic takes, and the most that a producer sends at once."""

# Otherwise librdkafka writes connection errors to stderr, though failed requests say why.
QUIET: Final = logging.getLogger(__name__)
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False

Security = Mapping[str, str]
"""TLS and SASL in librdkafka's words; `processors.credentials` translates them for Faust, and
`processors.spark.kafka_source` for Spark."""


def client_settings(servers: str, security: Security) -> dict[str, Any]:
    """The settings that reach the brokers."""
    return {"bootstrap.servers": servers, "reconnect.backoff.max.ms": "1000", **security}


def admin_client(servers: str, security: Security, logger: logging.Logger = QUIET) -> AdminClient:
    return AdminClient(client_settings(servers, security), logger=logger)


def reason(error: KafkaException) -> str:
    """The error as a short text."""
    return str(error.args[0].str())
