"""A broker that wants a user's password."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from metatide.config import load
from metatide.stack.kafka import Kafka, KafkaProbe
from metatide.stack.machine import LOOPBACK
from metatide.stack.ports import Ports

PASSWORD: Final = "hush-for-brokers"
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


class GuardedKafka(Kafka):
    """Lets in some users. The first of them is the broker itself, too."""

    protocol = "SASL_PLAINTEXT"

    def __init__(self, folder: Path, ports: Ports, users: Sequence[str]) -> None:
        super().__init__(folder / "kafka", ports)
        self._users = users

    def environment(self, user: str) -> dict[str, str]:
        """What this user sets to reach it."""
        return {
            "METATIDE_KAFKA_BOOTSTRAP_SERVERS": self.address,
            "METATIDE_KAFKA_PARTITIONS": "2",
            "METATIDE_KAFKA_SECURITY_PROTOCOL": self.protocol.lower(),
            "METATIDE_KAFKA_SASL_MECHANISM": "PLAIN",
            "METATIDE_KAFKA_SASL_USERNAME": user,
            "METATIDE_KAFKA_SASL_PASSWORD": PASSWORD,
        }

    def settings(self) -> Mapping[str, object]:
        """What a kind of guarded broker adds to its configuration."""
        return {}

    def answers(self) -> bool:
        security = load(environ=self.environment(self._users[0])).config.kafka.security
        return KafkaProbe(self.address, security).fault() is None

    def _write_config(self, path: Path, data: Path) -> Path:
        users = " ".join(f'user_{user}="{PASSWORD}"' for user in self._users)
        own = f'username="{self._users[0]}" password="{PASSWORD}"'
        here = f"{self.protocol}://{LOOPBACK}:{self._port}"
        listener = f"listener.name.{self.protocol.lower()}"
        settings = {
            "listeners": f"{here},CONTROLLER://{LOOPBACK}:{self._controller_port}",
            "advertised.listeners": here,
            "listener.security.protocol.map": (
                f"{self.protocol}:{self.protocol},CONTROLLER:PLAINTEXT"
            ),
            "inter.broker.listener.name": self.protocol,
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            f"{listener}.plain.sasl.jaas.config": f"{_LOGIN} required {own} {users};",
            **self.settings(),
        }
        with super()._write_config(path, data).open("a") as file:
            # The last line of a key counts.
            file.writelines(f"{key}={value}\n" for key, value in settings.items())
        return path
