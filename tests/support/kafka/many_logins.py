"""A real broker that knows users by a password, by SCRAM, and by tokens of an issuer."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from metatide.config import load
from metatide.stack.ports import Ports
from metatide.stack.service import Launch
from state.topic.settings import QUIET
from tests.support.kafka.guarded import PASSWORD, GuardedKafka
from tests.support.logins import oidc
from tests.support.logins.oidc import CLIENT, SECRET, Issuer, issuing
from tests.support.processes import open_folder, running

USER: Final = "me"
_SCRAM: Final = {
    "SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256,
    "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512,
}
MECHANISMS: Final = ("PLAIN", *_SCRAM, "OAUTHBEARER")
_OAUTH: Final = "org.apache.kafka.common.security.oauthbearer"


class ManyLogins(GuardedKafka):
    """Lets in those who know a password, or have a token."""

    def __init__(self, folder: Path, ports: Ports, issuer: Issuer) -> None:
        super().__init__(folder, ports, (USER,))
        self.issuer = issuer

    def prepare(self) -> Launch:
        launch = super().prepare()
        java, *rest = launch.argv
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self.issuer.keys_url}"
        return Launch((java, allowed, *rest))

    def settings(self) -> Mapping[str, object]:
        listener = f"listener.name.{self.protocol.lower()}"
        scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        by_token = f"{listener}.oauthbearer"
        return {
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            **{f"{listener}.{name.lower()}.sasl.jaas.config": scram for name in _SCRAM},
            f"{by_token}.sasl.jaas.config": f"{_OAUTH}.OAuthBearerLoginModule required;",
            f"{by_token}.sasl.server.callback.handler.class": (
                f"{_OAUTH}.OAuthBearerValidatorCallbackHandler"
            ),
            "sasl.oauthbearer.jwks.endpoint.url": self.issuer.keys_url,
            "sasl.oauthbearer.expected.audience": oidc.AUDIENCE,
        }

    def login(self, mechanism: str, secret: str | None = None) -> dict[str, str]:
        """What a client sets to log in so."""
        common = self.environment(USER) | {"METATIDE_KAFKA_SASL_MECHANISM": mechanism}
        if mechanism != "OAUTHBEARER":
            return common | {"METATIDE_KAFKA_SASL_PASSWORD": secret or PASSWORD}
        return {
            **{name: value for name, value in common.items() if "USERNAME" not in name},
            "METATIDE_KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL": self.issuer.token_url,
            "METATIDE_KAFKA_SASL_OAUTHBEARER_CLIENT_ID": CLIENT,
            "METATIDE_KAFKA_SASL_OAUTHBEARER_EXTENSIONS": "logicalCluster=one,pool=two",
            "METATIDE_KAFKA_SASL_OAUTHBEARER_CLIENT_SECRET": secret or SECRET,
        }

    def add_scram_users(self) -> None:
        security = load(environ=self.login("PLAIN")).config.kafka.security
        admin = AdminClient({"bootstrap.servers": self.address, **security}, logger=QUIET)
        for kind in _SCRAM.values():
            info = ScramCredentialInfo(kind, 4096)
            change: list[UserScramCredentialAlteration] = [
                UserScramCredentialUpsertion(USER, info, PASSWORD.encode())
            ]
            [done] = admin.alter_user_scram_credentials(change).values()
            done.result(30)


@contextmanager
def many_logins() -> Iterator[ManyLogins]:
    """A broker and an issuer that end with the block."""
    with open_folder() as folder, issuing(folder) as issuer:
        broker = ManyLogins(folder, Ports(folder / "ports.json"), issuer)
        with running(broker, folder / "log"):
            broker.add_scram_users()
            yield broker
