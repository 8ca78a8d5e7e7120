"""Logins at real servers that demand TLS, certificates, and passwords that change; and how long
connections are used.
"""

import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from hive.reader import engines
from hive.reader import login as logins
from hive.reader.engines import open_engine, pooled_engine
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


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(private_postgres, marks=pytest.mark.stock, id="PostgreSQL"),
        pytest.param(private_mariadb, marks=pytest.mark.mariadb, id="MariaDB"),
    ],
)
def server(request: pytest.FixtureRequest, authority: Authority) -> Iterator[sa.URL]:
    with request.param(authority) as url:
        yield url


@pytest.fixture(scope="module")
def authority() -> Iterator[Authority]:
    with open_folder() as folder:
        made = Authority(folder / "authority")
        (folder / "authority").chmod(0o711)
        yield made


def answers(engine: sa.Engine) -> bool:
    with engine.connect() as connection:
        return bool(connection.scalar(sa.text("SELECT 1")) == 1)


def test_a_server_is_verified_by_its_authority_and_by_its_name(
    server: sa.URL, authority: Authority, tmp_path: Path
) -> None:
    assert answers(engine_of(server, password="test", tls_ca=authority.certificate))
    stranger = Authority(tmp_path / "stranger").certificate
    with pytest.raises(OperationalError, match="certificate verify failed"):
        answers(engine_of(server, password="test", tls_ca=stranger))
    elsewhere = server.set(host="localhost")
    with pytest.raises(OperationalError, match=r"localhost|[Hh]ostname mismatch"):
        answers(engine_of(elsewhere, password="test", tls_ca=authority.certificate))


def test_a_client_shows_its_certificate(server: sa.URL, authority: Authority) -> None:
    ca = authority.certificate
    own, other = authority.sign(CERTIFIED), authority.sign("somebody")
    keys = {"tls_ca": ca, "tls_certificate": own.certificate, "tls_key": own.key}
    assert answers(engine_of(server, CERTIFIED, **keys))
    keys = {"tls_ca": ca, "tls_certificate": other.certificate, "tls_key": other.key}
    for wrong in (keys, {"tls_ca": ca}):
        with pytest.raises(OperationalError, match=r"certificate|Access denied"):
            answers(engine_of(server, CERTIFIED, **wrong))


def test_passwords_change_while_an_engine_lives(
    server: sa.URL, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logins, "REUSED_S", 0.0)
    path, refused = tmp_path / "password", r"password authentication|Access denied"
    command = shlex.join(["cat", str(path)])
    engine = engine_of(server, password_command=command, tls_ca=authority.certificate)
    path.write_text("test\n")
    assert answers(engine)
    path.write_text("expired\n")
    with pytest.raises(OperationalError, match=refused) as raised:
        answers(engine)
    assert "expired" not in str(raised.value)
    path.unlink()
    with pytest.raises(OperationalError, match="the password's command ended with 1: cat: "):
        answers(engine)
    path.write_text("test\n")
    assert answers(engine)


def test_mysql_connections_of_a_pool_are_not_used_for_good(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "RECYCLED_S", 0)
    recycled_s = pooled_engine("mysql://nowhere.example/m", 1).pool._recycle
    assert recycled_s == 0
    engine = pooled_engine(new_database(), 1)
    assert answers(engine)
    made: list[None] = []
    sa.event.listen(engine, "connect", lambda *_: made.append(None))
    assert answers(engine)
    assert made == []
    engine.dispose()
