"""No process that logs in at the metastore's database tells the password, right or wrong."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
import sqlalchemy as sa

from connectors.publish import tails
from hive.reader.engines import open_engine
from tests.connectors.connector_runs import Log, until
from tests.hive.reader.private_servers import private_postgres
from tests.support.kafka.kerberized import until_it_waits
from tests.support.kafka.topics import new_topic
from tests.support.logins.certificates import Authority
from tests.support.processes import open_folder
from tests.support.secrets_in_logs import assert_untold, logs_in
from tests.support.workers import WorkerProcess, workers

pytestmark = [pytest.mark.stock, pytest.mark.timeout(600)]
USER: Final = "tide"
PASSWORD: Final = "the tide's own one"
WRONG: Final = "one of another tide"
EVENTS: Final = 3
WAYS: Final = ("in the URL", "as a key", "from a file", "by a command")


class Site(NamedTuple):
    """A server that checks passwords, over TLS alone."""

    url: sa.URL
    authority: Authority

    def login(self, way: str, password: str, folder: Path) -> dict[str, str]:
        """What a process is told, so that it shows this password."""
        path = folder / "password"
        path.write_text(password)
        in_url = password if way == "in the URL" else None
        url = self.url.set(username=USER)._replace(password=in_url)
        more = {
            "in the URL": {},
            "as a key": {"PASSWORD": password},
            "from a file": {"PASSWORD_FILE": str(path)},
            "by a command": {"PASSWORD_COMMAND": shlex.join(["cat", str(path)])},
        }[way]
        keys = {
            "URL": url.render_as_string(hide_password=False).replace(" ", "%20"),
            "TLS_CA": str(self.authority.certificate),
            **more,
        }
        return {f"METATIDE_DATABASE_{name}": text for name, text in keys.items()}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with open_folder() as folder:
        authority = Authority(folder / "authority")
        (folder / "authority").chmod(0o711)
        with private_postgres(authority) as url:
            engine = open_engine(url, poolclass=sa.NullPool)
            Log(engine).write(*range(1, EVENTS + 1))
            quoted = PASSWORD.replace("'", "''")
            with engine.begin() as connection:
                for statement in (
                    f"CREATE USER {USER} PASSWORD '{quoted}'",
                    f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {USER}",
                ):
                    connection.execute(sa.text(statement))
            yield Site(url, authority)


@pytest.mark.by_turns(3)
@pytest.mark.parametrize("password", [PASSWORD, WRONG])
@pytest.mark.parametrize("way", WAYS)
def test_a_password_is_in_no_log(
    site: Site, kafka_broker: str, tmp_path: Path, way: str, password: str
) -> None:
    topic = new_topic(kafka_broker, 1)
    login = site.login(way, password, tmp_path)
    environment = {
        **login,
        "METATIDE_KAFKA_PARTITIONS": "1",
        "METATIDE_CONNECT_PORT": "0",
        "METATIDE_LOG_LEVEL": "debug",
    }
    worker = WorkerProcess(topic, tmp_path, "worker", **environment)
    connector = WorkerProcess(topic, tmp_path, "connector", "metatide connect", **environment)
    with workers(connector, worker):
        if password == PASSWORD:
            until(lambda: tails.find(topic).lowest == EVENTS, connector.log.read_text)
            worker.until_ready(1)
        else:
            until_it_waits(connector, "password authentication failed")
        said = {
            command: subprocess.run(
                [sys.executable, "-m", "metatide", *command.split()],
                env={
                    **os.environ,
                    **environment,
                    "METATIDE_KAFKA_BOOTSTRAP_SERVERS": topic.servers,
                    "METATIDE_KAFKA_TOPIC": topic.name,
                    "METATIDE_DATA_DIR": str(tmp_path),
                },
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            ).stdout
            for command in ("doctor --json", "config show --json", "prewarm")
        }
    is_refused = "password authentication failed" in said["doctor --json"]
    assert is_refused == (password == WRONG), said["doctor --json"]
    assert_untold([password], {**said, **logs_in(tmp_path)})
