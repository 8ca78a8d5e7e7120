"""A real broker that lets in those alone who show a certificate."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from metatide.config import load
from metatide.spark.login import login_fault as java_login_fault
from metatide.stack import jars
from metatide.stack.kafka import KafkaProbe
from metatide.stack.ports import Ports
from processors.consumer.login import login_fault
from state.topic.settings import Security
from tests.support.kafka.guarded import GuardedKafka
from tests.support.logins.certificates import STORE_PASSWORD, Authority, Certificate
from tests.support.processes import open_folder, running

TIMEOUT_S = 5.0


class CertifiedKafka(GuardedKafka):
    """Lets in those alone who show a certificate of an authority."""

    protocol = "SSL"

    def __init__(self, folder: Path, ports: Ports, authority: Authority, host: str) -> None:
        super().__init__(folder, ports, ())
        self._authority = authority
        self._own = authority.java_key(authority.sign("broker", host))
        self._client = authority.sign("client")

    def login(self, certificate: Certificate | None, **more: str) -> dict[str, str]:
        common = {
            "METATIDE_KAFKA_BOOTSTRAP_SERVERS": self.address,
            "METATIDE_KAFKA_SECURITY_PROTOCOL": "ssl",
            "METATIDE_KAFKA_SSL_CA_LOCATION": str(self._authority.certificate),
            **{f"METATIDE_KAFKA_{name}": text for name, text in more.items()},
        }
        if certificate is None:
            return common
        return common | {
            "METATIDE_KAFKA_SSL_CERTIFICATE_LOCATION": str(certificate.certificate),
            "METATIDE_KAFKA_SSL_KEY_LOCATION": str(certificate.key),
        }

    def environment(self, _: str) -> dict[str, str]:
        # The broker itself doesn't care by what name it is reached.
        return self.login(self._client, SSL_ENDPOINT_IDENTIFICATION_ALGORITHM="none")

    def answers(self) -> bool:
        return KafkaProbe(self.address, security_of(self.environment(""))).fault() is None

    def settings(self) -> Mapping[str, object]:
        return {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": self._own,
            "ssl.keystore.password": STORE_PASSWORD,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self._authority.certificate,
            "ssl.client.auth": "required",
            "ssl.endpoint.identification.algorithm": "",
        }

    def _write_config(self, path: Path, data: Path) -> Path:
        self._users = ("unused",)
        return super()._write_config(path, data)


class Site(NamedTuple):
    """A broker, and the certificates of a client that it knows and of one that it doesn't."""

    broker: CertifiedKafka
    client: Certificate
    stranger: Certificate
    jars: Path

    def faults(self, environ: dict[str, str]) -> list[str | None]:
        """What each library says."""
        address, security = self.broker.address, security_of(environ)
        return [
            KafkaProbe(address, security).fault(),
            login_fault(address, security, TIMEOUT_S),
            java_login_fault(address, security, self.jars, TIMEOUT_S),
        ]


def security_of(environ: dict[str, str]) -> Security:
    return load(environ=environ).config.kafka.security


def site_at(host: str) -> Iterator[Site]:
    with open_folder() as folder:
        authority, other = Authority(folder / "authority"), Authority(folder / "other")
        broker = CertifiedKafka(folder, Ports(folder / "ports.json"), authority, host)
        with running(broker, folder / "log"):
            clients = authority.sign("client"), other.sign("client")
            yield Site(broker, *clients, jars.fetch("spark"))
