"""A real broker that wants a ticket of Kerberos, and the realm that issues it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final

from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

from metatide.config import load
from metatide.stack.ports import Ports
from metatide.stack.service import Launch
from state.topic import Topic
from tests.support.kafka.guarded import GuardedKafka
from tests.support.kafka.kerberized_client import kerberized_kafka_client
from tests.support.locked_packages import package_folder
from tests.support.logins.kdc import HOST, REALM, Kdc
from tests.support.processes import open_folder, running
from tests.support.workers import PATIENCE_S, WorkerProcess

USER: Final = "me"
OWN: Final = f"metatide@{REALM}"
_LOGIN: Final = "com.sun.security.auth.module.Krb5LoginModule"


class KerberizedKafka(GuardedKafka):
    """Lets in whoever has a ticket, and the test by a password."""

    def __init__(self, folder: Path, ports: Ports, realm: Kdc) -> None:
        super().__init__(folder, ports, (USER,))
        self._realm = realm
        self._keytab = realm.keytab(f"kafka/{HOST}@{REALM}")

    def prepare(self) -> Launch:
        launch = super().prepare()
        java, *rest = launch.argv
        return Launch((java, f"-Djava.security.krb5.conf={self._realm.config}", *rest))

    def settings(self) -> Mapping[str, object]:
        listener = f"listener.name.{self.protocol.lower()}"
        options = f'useKeyTab=true storeKey=true keyTab="{self._keytab}"'
        return {
            "advertised.listeners": f"{self.protocol}://{HOST}:{self._port}",
            "sasl.enabled.mechanisms": "PLAIN,GSSAPI",
            "sasl.kerberos.service.name": "kafka",
            f"{listener}.gssapi.sasl.jaas.config": (
                f'{_LOGIN} required {options} principal="kafka/{HOST}@{REALM}";'
            ),
        }


class Site:
    """A broker with Kerberos, and what a client sets there."""

    def __init__(self, folder: Path) -> None:
        ports = Ports(folder / "ports.json")
        self.realm = Kdc(folder / "kdc", ports)
        self._log = folder / "kdc.log"
        self._kdc = ExitStack()
        self._start_kdc()
        self.broker = KerberizedKafka(folder, ports, self.realm)
        # What the keytab has first must not matter.
        self.keytab = self.realm.keytab(f"another@{REALM}", OWN)

    def _start_kdc(self) -> None:
        self._kdc.enter_context(running(self.realm, self._log))

    def close(self) -> None:
        self._kdc.close()

    @contextmanager
    def without_kdc(self) -> Iterator[None]:
        """Has no key distribution centre within the block."""
        self._kdc.close()
        try:
            yield
        finally:
            self._start_kdc()

    def topic(self, name: str) -> Topic:
        """A new topic, as the user with the password reaches it."""
        security = load(environ=self.broker.environment(USER)).config.kafka.security
        topic = Topic(self.broker.address, name, 2, security)
        admin = topic.admin()
        for created in admin.create_topics([NewTopic(name, 2, 1)]).values():
            created.result(30)
        return topic

    def login(self, principal: str = OWN, keytab: Path | None = None) -> dict[str, str]:
        return {
            "METATIDE_KAFKA_BOOTSTRAP_SERVERS": f"{HOST}:{self.broker.address.rpartition(':')[2]}",
            "METATIDE_KAFKA_SECURITY_PROTOCOL": self.broker.protocol.lower(),
            "METATIDE_KAFKA_SASL_MECHANISM": "GSSAPI",
            "METATIDE_KAFKA_SASL_KERBEROS_PRINCIPAL": principal,
            "METATIDE_KAFKA_SASL_KERBEROS_KEYTAB": str(keytab or self.keytab),
            "KRB5_CONFIG": str(self.realm.config),
            "PYTHONPATH": f"{kerberized_kafka_client()}:{package_folder('gssapi', 1)}",
        }

    def doctor(self, **environment: str) -> dict[str, Any]:
        """What the doctor says of each check."""
        done = subprocess.run(
            [sys.executable, "-m", "metatide", "doctor", "--json"],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        checks = [json.loads(line) for line in done.stdout.splitlines()]
        return {check["check"]: check for check in checks}


def until_it_waits(process: WorkerProcess, what: str) -> str:
    """Waits until a process says so in its log, which is returned."""
    deadline = time.monotonic() + PATIENCE_S
    while what not in (text := process.log.read_text()):
        assert process.running, text
        assert time.monotonic() < deadline, text
        time.sleep(0.1)
    return text


@contextmanager
def kerberized_site() -> Iterator[Site]:
    """A site that ends with the block."""
    with (
        open_folder() as folder,
        closing(Site(folder)) as site,
        running(site.broker, folder / "log"),
    ):
        yield site


def keys_in(keytab: Path) -> list[bytes]:
    """The keys of a keytab, as MIT Kerberos writes it (format 5.2)."""
    data, keys = keytab.read_bytes(), []
    at = 2
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], signed=True)
        entry = memoryview(data)[at + 4 : at + 4 + abs(size)]
        at += 4 + abs(size)
        if size > 0:
            keys.append(_key(entry))
    return keys


def _key(entry: memoryview) -> bytes:
    """The key after realm and names, a time, a version and the kind of the key."""
    texts, at = 1 + int.from_bytes(entry[:2]), 2
    for _ in range(texts):
        at += 2 + int.from_bytes(entry[at : at + 2])
    at += 4 + 4 + 1 + 2
    return bytes(entry[at + 2 : at + 2 + int.from_bytes(entry[at : at + 2])])
