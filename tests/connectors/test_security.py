"""A broker that wants a password, and shows a certificate that nobody else has signed."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from connectors.sql_source import SqlSource
from metatide.config import load
from metatide.stack.database import make_engine
from metatide.stack.java import find_java
from metatide.stack.kafka import Kafka, KafkaProbe
from metatide.stack.machine import LOOPBACK
from metatide.stack.ports import Ports
from metatide.topic import events_topic
from tests.connectors.connector_runs import Log, assert_unbroken, connecting, read
from tests.support.processes import open_folder, running

USER, PASSWORD, STORE_PASSWORD = "me", "hush", "hush-hush"
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


class GuardedKafka(Kafka):
    """Talks to those who know the password alone, and privately."""

    def __init__(self, folder: Path, ports: Ports) -> None:
        super().__init__(folder / "kafka", ports)
        self.certificate, self._keys = folder / "certificate.pem", folder / "keys.p12"
        keytool = find_java().with_name("keytool")
        store = ("-keystore", self._keys, "-storepass", STORE_PASSWORD, "-alias", "kafka")
        own = ("-keyalg", "EC", "-dname", f"CN={LOOPBACK}", "-ext", f"san=ip:{LOOPBACK}")
        for command in (
            (keytool, "-genkeypair", *store, "-storetype", "PKCS12", *own),
            (keytool, "-exportcert", *store, "-rfc", "-file", self.certificate),
        ):
            subprocess.run(command, check=True, capture_output=True)

    def answers(self) -> bool:
        security = load(environ=self.environment()).config.kafka.security
        return KafkaProbe(self.address, security).fault() is None

    def environment(self) -> dict[str, str]:
        """What a user sets to reach it."""
        return {
            "METATIDE_KAFKA_BOOTSTRAP_SERVERS": self.address,
            "METATIDE_KAFKA_PARTITIONS": "2",
            "METATIDE_KAFKA_SECURITY_PROTOCOL": "sasl_ssl",
            "METATIDE_KAFKA_SASL_MECHANISM": "PLAIN",
            "METATIDE_KAFKA_SASL_USERNAME": USER,
            "METATIDE_KAFKA_SASL_PASSWORD": PASSWORD,
            "METATIDE_KAFKA_SSL_CA_LOCATION": str(self.certificate),
        }

    def _write_config(self, path: Path, data: Path) -> Path:
        users = f'username="{USER}" password="{PASSWORD}" user_{USER}="{PASSWORD}"'
        here = f"SASL_SSL://{LOOPBACK}:{self._port}"
        settings = {
            "listeners": f"{here},CONTROLLER://{LOOPBACK}:{self._controller_port}",
            "advertised.listeners": here,
            "listener.security.protocol.map": "SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "SASL_SSL",
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{_LOGIN} required {users};",
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": self._keys,
            "ssl.keystore.password": STORE_PASSWORD,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.certificate,
        }
        with super()._write_config(path, data).open("a") as file:
            # The last line of a key counts.
            file.writelines(f"{key}={value}\n" for key, value in settings.items())
        return path


def test_a_guarded_broker_is_reached(new_database: Callable[[], str]) -> None:
    with open_folder() as folder:
        kafka = GuardedKafka(folder, Ports(folder / "ports.json"))
        log = Log(make_engine(new_database()))
        log.write(1, 2, 3)
        with running(kafka, folder / "log"):
            topic = events_topic(load(environ=kafka.environment()).config)
            with connecting(SqlSource(log.engine), topic) as connector:
                connector.until_position(3)
            assert assert_unbroken(read(topic), topic) == 3
