"""Servers that take connections by TLS alone, with users who log in by certificates."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from hive.reader.engines import open_engine
from metatide.config import load
from metatide.stack.ports import Ports
from metatide.stack.service import Launch
from tests.support.databases import stock_postgres
from tests.support.databases.mariadb import MariaDb
from tests.support.logins.certificates import Authority, Certificate
from tests.support.processes import open_folder, running

CERTIFIED = "certified"
HBA = f"""\
hostnossl all all all reject
hostssl all {CERTIFIED} all cert
hostssl all all all scram-sha-256
"""


def owned_by(user: str, certificate: Certificate) -> Certificate:
    for path in certificate:
        path.chmod(0o600)
        shutil.chown(path, user)
    return certificate


class PrivateMariaDb(MariaDb):
    """Takes connections by TLS alone."""

    def __init__(self, folder: Path, authority: Authority) -> None:
        super().__init__(folder / "mariadb", Ports(folder / "ports.json"))
        self._authority = authority

    def prepare(self) -> Launch:
        launch = super().prepare()
        own = owned_by("mysql", self._authority.sign("server"))
        options = (
            "--require-secure-transport=ON",
            f"--ssl-ca={self._authority.certificate}",
            f"--ssl-cert={own.certificate}",
            f"--ssl-key={own.key}",
        )
        return replace(launch, argv=(*launch.argv, *options))

    def answers(self) -> bool:
        try:
            engine_of(self.url, password="test", tls_ca=self._authority.certificate).connect()
        except OperationalError:
            return False
        return True


def engine_of(server: sa.URL, user: str | None = None, **keys: object) -> sa.Engine:
    """An engine for a configuration with these keys of `database`."""
    url = server.set(username=user or server.username)._replace(password=None)
    environment = {f"METATIDE_DATABASE_{key.upper()}": str(value) for key, value in keys.items()}
    environment["METATIDE_DATABASE_URL"] = url.render_as_string()
    full_url = load(environ=environment).config.database.full_url
    assert full_url is not None
    return open_engine(full_url, poolclass=sa.NullPool)


@contextmanager
def private_postgres(authority: Authority) -> Iterator[sa.URL]:
    with stock_postgres.local_server() as url:
        own = owned_by("postgres", authority.sign("server"))
        engine = open_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            [data] = connection.execute(sa.text("SHOW data_directory")).one()
            Path(data, "pg_hba.conf").write_text(HBA)
            for statement in (
                f"CREATE USER {CERTIFIED}",
                f"ALTER SYSTEM SET ssl_ca_file = '{authority.certificate}'",
                f"ALTER SYSTEM SET ssl_cert_file = '{own.certificate}'",
                f"ALTER SYSTEM SET ssl_key_file = '{own.key}'",
                "ALTER SYSTEM SET ssl = on",
                "SELECT pg_reload_conf()",
            ):
                connection.execute(sa.text(statement))
        yield url


@contextmanager
def private_mariadb(authority: Authority) -> Iterator[sa.URL]:
    with open_folder() as folder:
        server = PrivateMariaDb(folder, authority)
        with running(server, folder / "log"):
            statement = f"CREATE USER {CERTIFIED} REQUIRE SUBJECT '/CN={CERTIFIED}'"
            ca = authority.certificate
            with engine_of(server.url, password="test", tls_ca=ca).begin() as connection:
                connection.execute(sa.text(statement))
            yield server.url
