"""What may be said of the way to the brokers beyond the keys: properties of librdkafka that have
equals in all three libraries. All others are refused by their names."""

from collections.abc import Mapping
from typing import Final, Self

from state.topic.properties import EQUALS

OWN_KEYS: Final[Mapping[str, str]] = {
    **{
        name: name.replace(".", "_")
        for name in (
            "bootstrap.servers",
            "https.ca.location",
            "sasl.kerberos.keytab",
            "sasl.kerberos.principal",
            "sasl.kerberos.service.name",
            "sasl.mechanism",
            "sasl.oauthbearer.client.id",
            "sasl.oauthbearer.client.secret",
            "sasl.oauthbearer.extensions",
            "sasl.oauthbearer.scope",
            "sasl.oauthbearer.token.endpoint.url",
            "sasl.password",
            "sasl.username",
            "security.protocol",
            "ssl.ca.location",
            "ssl.certificate.location",
            "ssl.endpoint.identification.algorithm",
            "ssl.key.location",
            "ssl.key.password",
        )
    },
    "https.ca.pem": "https_ca_location",
    "metadata.broker.list": "bootstrap_servers",
    "sasl.mechanisms": "sasl_mechanism",
    "ssl.ca.pem": "ssl_ca_location",
    "ssl.certificate.pem": "ssl_certificate_location",
    "ssl.key.pem": "ssl_key_location",
}
"""The keys of `kafka` that stand for a property."""
OURS: Final = frozenset(
    {
        "auto.commit.interval.ms",
        "auto.offset.reset",
        "check.crcs",
        "client.id",
        "compression.type",
        "enable.auto.commit",
        "enable.idempotence",
        "fetch.max.bytes",
        "fetch.message.max.bytes",
        "fetch.min.bytes",
        "fetch.wait.max.ms",
        "group.id",
        "group.instance.id",
        "heartbeat.interval.ms",
        "isolation.level",
        "linger.ms",
        "max.partition.fetch.bytes",
        "max.poll.interval.ms",
        "max.poll.records",
        "message.max.bytes",
        "message.timeout.ms",
        "partition.assignment.strategy",
        "queue.buffering.max.messages",
        "reconnect.backoff.max.ms",
        "request.timeout.ms",
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.oauthbearer.method",
        "session.timeout.ms",
        "socket.timeout.ms",
    }
)
"""What Metatide decides, since its order, its limits or its logins rest on it."""
_JAVA: Final = "Kafka's Java client, by which Spark reads,"
_AIOKAFKA: Final = "aiokafka, by which workers follow,"
LACKING: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "broker.address.family",
            "broker.address.ttl",
            "enable.ssl.certificate.verification",
            "metadata.max.age.ms",
            "socket.keepalive.enable",
            "socket.max.fails",
            "socket.nagle.disable",
            "ssl.cipher.suites",
            "ssl.crl.location",
            "ssl.curves.list",
            "ssl.sigalgs.list",
        ),
        _JAVA,
    ),
    **dict.fromkeys(
        (
            "client.dns.lookup",
            "enable.metrics.push",
            "reconnect.backoff.ms",
            "retry.backoff.max.ms",
            "socket.connection.setup.timeout.ms",
            "socket.receive.buffer.bytes",
            "socket.send.buffer.bytes",
            "ssl.keystore.location",
            "ssl.keystore.password",
        ),
        _AIOKAFKA,
    ),
    "retry.backoff.ms": "Faust, which gives aiokafka its settings in workers,",
}
"""The libraries that have no equal of a property."""
_MS: Final = range(1_000, 3_600_001)


class Properties(str):
    """Names of librdkafka with values, separated by commas. It holds no secret: properties that are
    one have keys of their own."""

    __slots__ = ()
    metavar = "NAME=VALUE,…"

    def __new__(cls, text: str) -> Self:
        pairs = dict(_pair(part) for part in text.split(","))
        if len(pairs) < text.count(",") + 1:
            raise ValueError("a property occurs twice")
        return super().__new__(cls, ",".join(f"{name}={value}" for name, value in pairs.items()))

    @property
    def pairs(self) -> dict[str, str]:
        return dict(_pair(part) for part in self.split(","))


def _pair(part: str) -> tuple[str, str]:
    name, equals, value = (piece.strip() for piece in part.partition("="))
    if not equals:
        raise ValueError("expected NAME=VALUE, or several with commas in between")
    if name not in EQUALS:
        raise ValueError(f"{name[:80]} {_why_refused(name)}")
    if name.endswith(".ms") and not (value.isascii() and value.isdigit() and int(value) in _MS):
        raise ValueError(f"{name} takes milliseconds from {_MS[0]} to {_MS[-1]}")
    if not value or len(value) > 255 or any(char.isspace() for char in value):
        raise ValueError(f"{name} takes a word of at most 255 characters")
    return name, value


def _why_refused(name: str) -> str:
    if name in OWN_KEYS:
        return f"has a key of its own: kafka.{OWN_KEYS[name]}"
    if name in OURS:
        return "is set by Metatide itself"
    if name in LACKING:
        return f"wouldn't hold for all libraries: {LACKING[name]} has no equal of it"
    return f"isn't one of the properties that all three libraries have: {', '.join(EQUALS)}"
