"""A broker that wants a password, and shows a certificate that nobody else has signed."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from connectors.log.sql_source import SqlSource
from hive.reader.engines import unpooled_engine
from metatide.config import load
from metatide.stack.java import find_java
from metatide.stack.machine import LOOPBACK
from metatide.stack.ports import Ports
from metatide.topic import events_topic
from tests.connectors.connector_runs import Log, assert_unbroken, connecting, read
from tests.support.kafka.guarded import GuardedKafka
from tests.support.processes import open_folder, running

pytestmark = pytest.mark.slow

USER, STORE_PASSWORD = "me", "hush-hush"


class PrivateKafka(GuardedKafka):
    """Talks to those who know the password alone, and privately."""

    protocol = "SASL_SSL"

    def __init__(self, folder: Path, ports: Ports) -> None:
        super().__init__(folder, ports, (USER,))
        self.certificate, self._keys = folder / "certificate.pem", folder / "keys.p12"
        keytool = find_java().with_name("keytool")
        store = ("-keystore", self._keys, "-storepass", STORE_PASSWORD, "-alias", "kafka")
        own = ("-keyalg", "EC", "-dname", f"CN={LOOPBACK}", "-ext", f"san=ip:{LOOPBACK}")
        for command in (
            (keytool, "-genkeypair", *store, "-storetype", "PKCS12", *own),
            (keytool, "-exportcert", *store, "-rfc", "-file", self.certificate),
        ):
            subprocess.run(command, check=True, capture_output=True)

    def environment(self, user: str) -> dict[str, str]:
        certificate = str(self.certificate)
        return {**super().environment(user), "METATIDE_KAFKA_SSL_CA_LOCATION": certificate}

    def settings(self) -> Mapping[str, object]:
        return {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": self._keys,
            "ssl.keystore.password": STORE_PASSWORD,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.certificate,
        }


def test_a_guarded_broker_is_reached(new_metastore_database: Callable[[], str]) -> None:
    with open_folder() as folder:
        kafka = PrivateKafka(folder, Ports(folder / "ports.json"))
        log = Log(unpooled_engine(new_metastore_database()))
        log.write(1, 2, 3)
        with running(kafka, folder / "log"):
            topic = events_topic(load(environ=kafka.environment(USER)).config)
            with connecting(SqlSource(log.engine), topic) as connector:
                connector.until_position(3)
            assert assert_unbroken(read(topic), topic) == 3
