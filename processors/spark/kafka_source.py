"""Connects Spark's own Kafka source to the brokers."""

from collections.abc import Mapping
from pathlib import Path

from state.topic import Topic
from state.topic.properties import EQUALS
from state.topic.settings import Security

_LOGINS = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_KERBEROS = "com.sun.security.auth.module.Krb5LoginModule"
_AWS = "software.amazon.msk.auth.iam"
"""Classes of AWS's own jar, aws-msk-iam-auth."""
_OAUTH = "org.apache.kafka.common.security.oauthbearer"


def source_options(topic: Topic) -> dict[str, str]:
    """The options of the source for the whole topic."""
    options = {"kafka.bootstrap.servers": topic.servers, "subscribe": topic.name}
    return options | {f"kafka.{name}": value for name, value in java_words(topic.security).items()}


def java_words(security: Security) -> dict[str, str]:
    """Translates librdkafka's settings into those of Kafka's Java client."""
    words: dict[str, str] = {}
    if protocol := security.get("security.protocol"):
        words["security.protocol"] = protocol.upper()
    mechanism = security.get("sasl.mechanism")
    if mechanism is not None:
        words["sasl.mechanism"] = mechanism
    if mechanism in _LOGINS:
        words["sasl.jaas.config"] = _login(
            _LOGINS[mechanism],
            {"username": security["sasl.username"], "password": security["sasl.password"]},
        )
    elif mechanism == "OAUTHBEARER":
        words |= _token_words(security)
    elif mechanism == "GSSAPI":
        words["sasl.kerberos.service.name"] = security["sasl.kerberos.service.name"]
        options = {
            "keyTab": security["sasl.kerberos.keytab"],
            "principal": security["sasl.kerberos.principal"],
        }
        words["sasl.jaas.config"] = _login(_KERBEROS, {"useKeyTab": "true", **options})
    elif mechanism == "AWS_MSK_IAM":
        words["sasl.jaas.config"] = _login(f"{_AWS}.IAMLoginModule", {})
        words["sasl.client.callback.handler.class"] = f"{_AWS}.IAMClientCallbackHandler"
    if security.get("ssl.endpoint.identification.algorithm") == "none":
        words["ssl.endpoint.identification.algorithm"] = ""
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
    equals = {EQUALS[name].java: value for name, value in security.items() if name in EQUALS}
    return words | equals


def _token_words(security: Security) -> dict[str, str]:
    options = {
        "clientId": security["sasl.oauthbearer.client.id"],
        "clientSecret": security["sasl.oauthbearer.client.secret"],
    }
    if (scope := security.get("sasl.oauthbearer.scope")) is not None:
        options["scope"] = scope
    for pair in filter(None, security.get("sasl.oauthbearer.extensions", "").split(",")):
        name, _, value = pair.partition("=")
        options[f"extension_{name}"] = value
    if (authority := security.get("https.ca.location")) is not None:
        options |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": authority}
    return {
        "sasl.login.callback.handler.class": f"{_OAUTH}.OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url": security["sasl.oauthbearer.token.endpoint.url"],
        "sasl.jaas.config": _login(f"{_OAUTH}.OAuthBearerLoginModule", options),
    }


def _login(module: str, options: Mapping[str, str]) -> str:
    """A line of JAAS."""
    return " ".join([module, "required", *(f"{k}={_quoted(v)}" for k, v in options.items())]) + ";"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
