"""How clients log in at the brokers: one description, in librdkafka's words."""

from collections.abc import Mapping
from typing import Final

from hive.errors import InputError

OAUTHBEARER: Final = "OAUTHBEARER"
_WORDS: Final = ("security_", "sasl_", "ssl_", "https_")
_OF_PASSWORD: Final = ("sasl_username", "sasl_password")
_OF_TOKEN: Final = tuple(
    f"sasl_oauthbearer_{name}" for name in ("token_endpoint_url", "client_id", "client_secret")
)


def words_of(keys: Mapping[str, object]) -> dict[str, str]:
    """The settings of TLS and SASL among the keys of `kafka`, in librdkafka's words."""
    words = {
        name.replace("_", "."): str(value)
        for name, value in keys.items()
        if name.startswith(_WORDS) and value is not None
    }
    if keys["sasl_mechanism"] == OAUTHBEARER:
        words["sasl.oauthbearer.method"] = "oidc"
    return words


def check_login(keys: Mapping[str, object]) -> None:
    """Raises InputError if a setting of SASL is missing, or has no use."""
    mechanism, protocol = keys["sasl_mechanism"], str(keys["security_protocol"])
    if mechanism is None:
        if protocol.startswith("sasl"):
            raise InputError(f"kafka.security_protocol is {protocol}: set kafka.sasl_mechanism")
        for name in (*_OF_PASSWORD, *_OF_TOKEN):
            if keys[name] is not None:
                raise InputError(f"kafka.{name} has no use without kafka.sasl_mechanism")
        return
    if not protocol.startswith("sasl"):
        raise InputError(
            f"kafka.sasl_mechanism is {mechanism}: set kafka.security_protocol to sasl_ssl, or to "
            "sasl_plaintext"
        )
    needed = _OF_TOKEN if mechanism == OAUTHBEARER else _OF_PASSWORD
    missing = [f"kafka.{name}" for name in needed if keys[name] is None]
    if missing:
        raise InputError(f"kafka.sasl_mechanism is {mechanism}: set {', '.join(missing)}")
