"""Connects Spark's own Kafka source to the brokers."""

from pathlib import Path

from state.topic import Topic
from state.topic.settings import Security

_LOGINS = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def source_options(topic: Topic) -> dict[str, str]:
    """The options of the source for the whole topic."""
    options = {"kafka.bootstrap.servers": topic.servers, "subscribe": topic.name}
    return options | {f"kafka.{name}": value for name, value in java_words(topic.security).items()}


def java_words(security: Security) -> dict[str, str]:
    """Translates librdkafka's TLS and SASL settings into those of Kafka's Java client."""
    words: dict[str, str] = {}
    if protocol := security.get("security.protocol"):
        words["security.protocol"] = protocol.upper()
    mechanism = security.get("sasl.mechanism", "PLAIN")
    if (user := security.get("sasl.username")) is not None and mechanism in _LOGINS:
        password = security.get("sasl.password", "")
        words["sasl.mechanism"] = mechanism
        words["sasl.jaas.config"] = (
            f"{_LOGINS[mechanism]} required username={_quoted(user)} password={_quoted(password)};"
        )
    if (authority := security.get("ssl.ca.location")) is not None:
        words["ssl.truststore.type"] = "PEM"
        words["ssl.truststore.certificates"] = Path(authority).read_text()
    certificate, key = security.get("ssl.certificate.location"), security.get("ssl.key.location")
    if certificate is not None and key is not None:
        words["ssl.keystore.type"] = "PEM"
        words["ssl.keystore.certificate.chain"] = Path(certificate).read_text()
        words["ssl.keystore.key"] = Path(key).read_text()
    if (secret := security.get("ssl.key.password")) is not None:
        words["ssl.key.password"] = secret
    return words


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
