"""No process that logs in at brokers tells a secret, whether it gets in or not."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

from connectors.publish import tails
from hive.reader.engines import unpooled_engine
from metatide.config import load
from state.topic import Topic
from tests.connectors.connector_runs import Log, until
from tests.support.kafka.certified import Site as CertifiedSite
from tests.support.kafka.certified import site_at
from tests.support.kafka.guarded import PASSWORD
from tests.support.kafka.kerberized import Site as KerberizedSite
from tests.support.kafka.kerberized import kerberized_site, keys_in, until_it_waits
from tests.support.kafka.many_logins import MECHANISMS, USER, ManyLogins, many_logins
from tests.support.logins.kdc import REALM
from tests.support.logins.oidc import SECRET
from tests.support.logins.openssl import openssl
from tests.support.secrets_in_logs import assert_untold, logs_in
from tests.support.workers import WorkerProcess, workers

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.by_turns(4, of="logins")]

WRONG = "a-wrong-one-for-brokers"
KEY_PASSWORD = "a-password-of-the-key"
EVENTS = 3
SHARDS = 2


class Run:
    """A connector, a worker and commands that log in as an environment says."""

    def __init__(self, folder: Path, database: str, name: str, environment: Mapping[str, str]):
        self._folder = folder
        engine = unpooled_engine(database)
        Log(engine).write(*range(1, EVENTS + 1))
        engine.dispose()
        self._environment = {
            **environment,
            "METATIDE_DATABASE_URL": database,
            "METATIDE_KAFKA_TOPIC": name,
            "METATIDE_KAFKA_PARTITIONS": str(SHARDS),
            "METATIDE_DATA_DIR": str(folder),
            "METATIDE_IMAGES_URL": f"file://{folder / 'images'}",
            "METATIDE_SPARK_MASTER": "local[1]",
            "METATIDE_CONNECT_PORT": "0",
            "METATIDE_LOG_LEVEL": "debug",
        }
        topic = Topic(environment["METATIDE_KAFKA_BOOTSTRAP_SERVERS"], name, SHARDS)
        self._worker, self._connector = (
            WorkerProcess(topic, folder, role, command, **self._environment)
            for role, command in (("worker", "metatide work"), ("connector", "metatide connect"))
        )

    def works(self, topic: Topic) -> dict[str, str]:
        """What all that get in write."""
        with workers(self._connector, self._worker):
            self._worker.until_ready(SHARDS)
            until(lambda: tails.find(topic).lowest == EVENTS, self._connector.log.read_text)
            said = {
                "doctor": self._command("doctor", "--json"),
                "config": self._command("config", "show", "--json", status=0),
                "prewarm": self._command("prewarm", "--again", status=0),
                "images on Spark": self._command("image", "once", status=0),
                "status": str(self._worker.status()),
            }
        assert (self._folder / "spark" / "driver.log").is_file()
        return said | logs_in(self._folder)

    def is_refused(self) -> dict[str, str]:
        """What all that don't get in write."""
        with workers(self._connector, self._worker):
            until_it_waits(self._worker, "waiting for the topic")
            until_it_waits(self._connector, '"waiting"')
            said = {
                "doctor": self._command("doctor", "--json", status=1),
                "config": self._command("config", "show", "--json", status=0),
                "prewarm": self._command("prewarm", status=1),
                "images on Spark": self._command("image", "once", status=1),
                "status": str(self._worker.status()),
            }
        return said | logs_in(self._folder)

    def ends(self, why: str) -> dict[str, str]:
        """What all write whose configuration can't be used."""
        with workers(self._connector, self._worker):
            assert [self._worker.wait(), self._connector.wait()] == [2, 2]
        said = {"doctor": self._command("doctor", "--json", status=1)}
        written = logs_in(self._folder)
        assert not [text for text in (*said.values(), *written.values()) if why not in text]
        assert not [text for text in written.values() if "Traceback" in text]
        return said | written

    def _command(self, *arguments: str, status: int | None = None) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "metatide", *arguments],
            env={**os.environ, **self._environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert status in (None, done.returncode), done.stdout
        return done.stdout


def made_topic(environment: Mapping[str, str], name: str) -> Topic:
    config = load(environ=dict(environment)).config.kafka
    assert config.bootstrap_servers is not None
    topic = Topic(config.bootstrap_servers, name, SHARDS, config.security)
    admin = topic.admin()
    for created in admin.create_topics([NewTopic(name, SHARDS, 1)]).values():
        created.result(30)
    return topic


@pytest.fixture(scope="module")
def broker() -> Iterator[ManyLogins]:
    with many_logins() as started:
        yield started


@pytest.mark.by_turns(4)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_passwords_and_tokens(
    broker: ManyLogins, mechanism: str, new_database: Callable[[], str], tmp_path: Path
) -> None:
    topic = made_topic(broker.environment(USER), f"secret-{mechanism}")
    right = Run(tmp_path, new_database(), topic.name, broker.login(mechanism)).works(topic)
    signatures = [token.rpartition(".")[2] for token in broker.issuer.tokens]
    assert bool(signatures) == (mechanism == "OAUTHBEARER")
    assert_untold([PASSWORD, SECRET, *signatures], right)


@pytest.mark.by_turns(4)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_wrong_passwords_and_secrets(
    broker: ManyLogins, mechanism: str, new_database: Callable[[], str], tmp_path: Path
) -> None:
    name = f"wrong-{mechanism}"
    run = Run(tmp_path, new_database(), name, broker.login(mechanism, WRONG))
    assert_untold([WRONG], run.is_refused())


@pytest.fixture(scope="module")
def certified() -> Iterator[CertifiedSite]:
    yield from site_at("127.0.0.1")


def encrypted(site: CertifiedSite, folder: Path) -> Path:
    """The client's key as a file that a password opens, in a form that Java 17 can read."""
    path = folder / "client.encrypted"
    options = ("-topk8", "-v1", "PBE-SHA1-3DES", "-passout", f"pass:{KEY_PASSWORD}")
    openssl("pkcs8", "-in", site.client.key, *options, "-out", path)
    return path


@pytest.mark.by_turns(2)
@pytest.mark.parametrize("password", [KEY_PASSWORD, WRONG])
def test_keys_of_certificates(
    certified: CertifiedSite, password: str, new_database: Callable[[], str], tmp_path: Path
) -> None:
    key = encrypted(certified, tmp_path)
    environment = certified.broker.login(
        certified.client, SSL_KEY_LOCATION=str(key), SSL_KEY_PASSWORD=password
    ) | {"METATIDE_KAFKA_SSL_KEY_LOCATION": str(key)}
    run = Run(tmp_path, new_database(), f"certified-{len(password)}", environment)
    if password == WRONG:
        said = run.ends("ssl.key.location failed")
    else:
        said = run.works(made_topic(environment, f"certified-{len(password)}"))
    assert_untold([password, certified.client.key.read_text().splitlines()[1]], said)


@pytest.fixture(scope="module")
def kerberized() -> Iterator[KerberizedSite]:
    with kerberized_site() as started:
        yield started


@pytest.mark.logins
def test_keytabs(
    kerberized: KerberizedSite, new_database: Callable[[], str], tmp_path: Path
) -> None:
    topic = kerberized.topic("keytabs")
    options = f"-Djava.security.krb5.conf={kerberized.realm.config}"
    environment = kerberized.login() | {"JAVA_TOOL_OPTIONS": options}
    said = Run(tmp_path, new_database(), topic.name, environment).works(topic)
    keys = keys_in(kerberized.keytab)
    assert keys
    assert_untold(keys, said)


@pytest.mark.logins
def test_wrong_keytabs(
    kerberized: KerberizedSite, new_database: Callable[[], str], tmp_path: Path
) -> None:
    keytab = kerberized.realm.keytab(f"changed@{REALM}")
    old = keytab.with_suffix(".old")
    old.write_bytes(keytab.read_bytes())
    kerberized.realm.keytab(f"changed@{REALM}")
    login = kerberized.login(f"changed@{REALM}", old)
    said = Run(tmp_path, new_database(), "wrong-keytab", login).is_refused()
    assert_untold(keys_in(old), said)
