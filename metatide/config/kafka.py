"""How clients reach the brokers and log in: one description, in librdkafka's words."""

import re
import socket
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from hive.errors import InputError
from metatide.config.properties import Properties
from metatide.config.section import Section, key, require_together
from metatide.config.values import Extensions, HttpUrl, OwnPrincipal, Secret, Servers

_WORDS: Final = ("security_", "sasl_", "ssl_", "https_")
_OF_PASSWORD: Final = ("sasl_username", "sasl_password")
_OF_TICKET: Final = ("sasl_kerberos_principal", "sasl_kerberos_keytab")
_OF_TOKEN: Final = tuple(
    f"sasl_oauthbearer_{name}" for name in ("token_endpoint_url", "client_id", "client_secret")
)
_OF_AWS: Final = ("sasl_aws_region",)
_NEEDED: Final[dict[str | None, tuple[str, ...]]] = {
    "PLAIN": _OF_PASSWORD,
    "SCRAM-SHA-256": _OF_PASSWORD,
    "SCRAM-SHA-512": _OF_PASSWORD,
    "GSSAPI": _OF_TICKET,
    "OAUTHBEARER": _OF_TOKEN,
    "AWS_MSK_IAM": _OF_AWS,
}
"""What each mechanism needs."""
_EACH_NEEDED: Final = tuple(dict.fromkeys(name for names in _NEEDED.values() for name in names))


class Kafka(Section, frozen=True):
    """The broker, and the topic from which the cache is built."""

    bootstrap_servers: Annotated[
        Servers | None,
        key("Your own brokers; without them, `metatide up` starts one.", option="--kafka"),
    ] = None
    topic: Annotated[str, key("The topic that carries the log of the metastore.")] = "metatide"
    partitions: Annotated[
        int,
        key("Partitions of the topic when it is created; each is a shard.", ge=1, le=4096),
    ] = 16
    security_protocol: Annotated[
        Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"],
        key("The security protocol of the brokers; the broker of `metatide up` uses plaintext."),
    ] = "plaintext"
    sasl_mechanism: Annotated[
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER", "AWS_MSK_IAM"]
        | None,
        key(
            "How the brokers know who asks: by name and password, by a ticket of Kerberos "
            "(`GSSAPI`), by a token that is fetched with a client's id and secret (`OAUTHBEARER`), "
            "or by one that is signed with a login at AWS (`AWS_MSK_IAM`)."
        ),
    ] = None
    sasl_username: Annotated[str | None, key("The user name for the brokers.")] = None
    sasl_password: Annotated[Secret | None, key("The user's password for the brokers.")] = None
    sasl_kerberos_service_name: Annotated[
        str, key("The brokers' service in Kerberos, `SERVICE/HOST@REALM`, for `GSSAPI`.")
    ] = "kafka"
    sasl_kerberos_principal: Annotated[
        OwnPrincipal | None,
        key(
            "The client's own principal, `cache@EXAMPLE.COM` or `cache/_HOST@EXAMPLE.COM`, with "
            "the machine's full name for `_HOST`."
        ),
    ] = None
    sasl_kerberos_keytab: Annotated[
        Path | None,
        key(
            "The keytab with the keys of `kafka.sasl_kerberos_principal`, by which tickets are "
            "renewed when they end."
        ),
    ] = None
    sasl_oauthbearer_token_endpoint_url: Annotated[
        HttpUrl | None,
        key("Where tokens are issued, by OIDC's client credentials, for `OAUTHBEARER`."),
    ] = None
    sasl_oauthbearer_client_id: Annotated[
        str | None, key("The client's id at the token endpoint.")
    ] = None
    sasl_oauthbearer_client_secret: Annotated[
        Secret | None, key("The client's secret at the token endpoint.")
    ] = None
    sasl_oauthbearer_scope: Annotated[
        str | None, key("The scope of the tokens, if their issuer needs one.")
    ] = None
    sasl_oauthbearer_extensions: Annotated[
        Extensions | None,
        key("What brokers want to know beside the token: `NAME=VALUE`, or several with commas."),
    ] = None
    sasl_aws_region: Annotated[
        str | None,
        key("The region of the brokers, for `AWS_MSK_IAM`: `eu-central-1`."),
    ] = None
    https_ca_location: Annotated[
        Path | None,
        key("The CA certificates for the token endpoint; by default the system's."),
    ] = None
    ssl_ca_location: Annotated[
        Path | None, key("The CA certificates for the brokers; by default the system's.")
    ] = None
    ssl_endpoint_identification_algorithm: Annotated[
        Literal["https", "none"],
        key("Whether a broker must show a certificate of its host's name."),
    ] = "https"
    ssl_certificate_location: Annotated[
        Path | None, key("The client certificate for the brokers.")
    ] = None
    ssl_key_location: Annotated[
        Path | None, key("The key of `kafka.ssl_certificate_location`.")
    ] = None
    ssl_key_password: Annotated[
        Secret | None, key("The password of the key in `kafka.ssl_key_location`.")
    ] = None

    properties: Annotated[
        Properties | None,
        key(
            "Further properties of librdkafka, for all three libraries: `NAME=VALUE`, or several "
            "with commas. [These](security.md#properties-of-librdkafka) can be passed on."
        ),
    ] = None

    @property
    def security(self) -> dict[str, str]:
        """The way to the brokers, TLS and SASL in librdkafka's terms, as far as it has them."""
        settings = {
            name.replace("_", "."): str(value)
            for name, value in msgspec.structs.asdict(self).items()
            if name.startswith(_WORDS) and value is not None
        }
        if self.ssl_endpoint_identification_algorithm == "https":
            del settings["ssl.endpoint.identification.algorithm"]
        if self.sasl_mechanism == "OAUTHBEARER":
            settings["sasl.oauthbearer.method"] = "oidc"
        if self.sasl_kerberos_principal is None:
            del settings["sasl.kerberos.service.name"]
        else:
            settings["sasl.kerberos.principal"] = self.sasl_kerberos_principal.at(socket.getfqdn())
        return settings | (self.properties.pairs if self.properties is not None else {})

    def __post_init__(self) -> None:
        """Raises InputError if no topic can have this name, or if a setting of SASL or TLS is
        missing, or has no use.
        """
        if not re.fullmatch(r"[\w.-]{1,237}", self.topic, re.ASCII) or self.topic in (".", ".."):
            raise InputError(
                f"kafka.topic is {self.topic!r}: take at most 237 of the characters a-z, A-Z, 0-9, "
                "'.', '_' and '-', and not '.' or '..'"
            )
        mechanism, protocol = self.sasl_mechanism, self.security_protocol
        if mechanism is None and protocol.startswith("sasl"):
            raise InputError(f"kafka.security_protocol is {protocol}: set kafka.sasl_mechanism")
        if mechanism is not None and not protocol.startswith("sasl"):
            raise InputError(
                f"kafka.sasl_mechanism is {mechanism}: set kafka.security_protocol to sasl_ssl, "
                "or to sasl_plaintext"
            )
        missing = [
            f"kafka.{name}" for name in _NEEDED.get(mechanism, ()) if getattr(self, name) is None
        ]
        if missing:
            raise InputError(f"kafka.sasl_mechanism is {mechanism}: set {', '.join(missing)}")
        for name in _EACH_NEEDED if mechanism is None else ():
            if getattr(self, name) is not None:
                raise InputError(f"kafka.{name} has no use without kafka.sasl_mechanism")
        require_together(self, "ssl_certificate_location", "ssl_key_location")
