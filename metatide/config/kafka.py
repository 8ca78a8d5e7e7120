"""How clients reach the brokers and log in: one description, in librdkafka's words."""

from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from hive.errors import InputError
from metatide.config.section import Section, key
from metatide.config.values import Secret, Servers

_WORDS: Final = ("security_", "sasl_", "ssl_", "https_")
_OF_PASSWORD: Final = ("sasl_username", "sasl_password")
_OF_TOKEN: Final = tuple(
    f"sasl_oauthbearer_{name}" for name in ("token_endpoint_url", "client_id", "client_secret")
)


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
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] | None,
        key(
            "How the brokers know who asks: by name and password, or (`OAUTHBEARER`) by a token "
            "that is fetched with a client's id and secret."
        ),
    ] = None
    sasl_username: Annotated[str | None, key("The user name for the brokers.")] = None
    sasl_password: Annotated[Secret | None, key("The user's password for the brokers.")] = None
    sasl_oauthbearer_token_endpoint_url: Annotated[
        str | None,
        key("Where tokens are issued, by OIDC's client credentials, for `OAUTHBEARER`."),
    ] = None
    sasl_oauthbearer_client_id: Annotated[str | None, key("The client's id there.")] = None
    sasl_oauthbearer_client_secret: Annotated[Secret | None, key("The client's secret.")] = None
    sasl_oauthbearer_scope: Annotated[
        str | None, key("The scope of the tokens, if that is needed.")
    ] = None
    https_ca_location: Annotated[
        Path | None,
        key("The CA certificates for the token endpoint; by default the system's."),
    ] = None
    ssl_ca_location: Annotated[
        Path | None, key("The CA certificates for the brokers; by default the system's.")
    ] = None
    ssl_certificate_location: Annotated[
        Path | None, key("The client certificate for the brokers.")
    ] = None
    ssl_key_location: Annotated[Path | None, key("Its key.")] = None
    ssl_key_password: Annotated[Secret | None, key("The password of that key.")] = None

    @property
    def security(self) -> dict[str, str]:
        """The settings of TLS and SASL in librdkafka's terms."""
        settings = {
            name.replace("_", "."): str(value)
            for name, value in msgspec.structs.asdict(self).items()
            if name.startswith(_WORDS) and value is not None
        }
        if self.sasl_mechanism == "OAUTHBEARER":
            settings["sasl.oauthbearer.method"] = "oidc"
        return settings

    def __post_init__(self) -> None:
        """Raises InputError if a setting of SASL is missing, or has no use."""
        mechanism, protocol = self.sasl_mechanism, self.security_protocol
        if mechanism is None:
            if protocol.startswith("sasl"):
                raise InputError(f"kafka.security_protocol is {protocol}: set kafka.sasl_mechanism")
            for name in (*_OF_PASSWORD, *_OF_TOKEN):
                if getattr(self, name) is not None:
                    raise InputError(f"kafka.{name} has no use without kafka.sasl_mechanism")
            return
        if not protocol.startswith("sasl"):
            raise InputError(
                f"kafka.sasl_mechanism is {mechanism}: set kafka.security_protocol to sasl_ssl, "
                "or to sasl_plaintext"
            )
        needed = _OF_TOKEN if mechanism == "OAUTHBEARER" else _OF_PASSWORD
        missing = [f"kafka.{name}" for name in needed if getattr(self, name) is None]
        if missing:
            raise InputError(f"kafka.sasl_mechanism is {mechanism}: set {', '.join(missing)}")
