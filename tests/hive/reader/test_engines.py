"""Logins at real servers that demand TLS, certificates, and passwords that change; and how long
connections are used.
"""

import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from hive.errors import InputError
from hive.reader import engines, sessions
from hive.reader import login as logins
from hive.reader.engines import open_engine, pooled_engine, unpooled_engine, without_limits
from tests.hive.reader.private_servers import (
    CERTIFIED,
    engine_of,
    private_mariadb,
    private_postgres,
)
from tests.support.logins.certificates import Authority
from tests.support.processes import open_folder


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
    with pytest.raises(OperationalError, match=r"database\.password_command ended with 1: cat: "):
        answers(engine)
    path.write_text("test\n")
    assert answers(engine)


def test_other_databases_are_refused() -> None:
    with pytest.raises(InputError, match="not sqlite://"):
        open_engine("sqlite:///hive.db")


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


@pytest.mark.parametrize(("version", "compiles"), [(100_023, False), (110_000, True)])
def test_a_release_that_compiles_nothing_is_not_told_not_to(version: int, compiles: bool) -> None:
    connection = Mock()
    connection.info.parameter_status.return_value = "UTF8"
    connection.info.server_version = version
    connection.execute.return_value.fetchone.return_value = (None, "", "")
    sessions._prepare_postgresql(connection, None)
    [call] = connection.execute.call_args_list
    assert ("'jit'" in call.args[0]) is compiles


def test_numbers_come_unrounded_whatever_the_server_is_told(
    new_database: Callable[[], str],
) -> None:
    url = sa.make_url(new_database())
    with unpooled_engine(url).begin() as connection:
        connection.exec_driver_sql(f"ALTER DATABASE {url.database} SET extra_float_digits = 0")
    with unpooled_engine(url).connect() as connection:
        number = connection.scalar(sa.text("SELECT CAST('0.1' AS float8) + CAST('0.2' AS float8)"))
    assert number == 0.1 + 0.2


def test_a_session_that_a_pooler_gives_to_several_clients_is_refused(
    new_database: Callable[[], str],
) -> None:
    """The pooler is one whose clients get the same session one after the other."""
    url = new_database().replace("postgresql+psycopg", "postgresql")
    with psycopg.connect(url) as session:
        sessions._prepare_postgresql(session, None)
        # A pooler of sessions resets them.
        session.commit()
        session.autocommit = True
        session.execute("DISCARD ALL")
        session.autocommit = False
        sessions._prepare_postgresql(session, None)
        with pytest.raises(psycopg.OperationalError, match="pool_mode=session"):
            sessions._prepare_postgresql(session, None)
        assert session.closed


def test_a_load_may_take_longer_than_the_server_grants(new_database: Callable[[], str]) -> None:
    url = sa.make_url(new_database())
    limits = "statement_timeout", "idle_in_transaction_session_timeout", "transaction_timeout"
    with unpooled_engine(url).begin() as connection:
        for name in limits:
            connection.exec_driver_sql(f"ALTER DATABASE {url.database} SET {name} = '100ms'")
    with pytest.raises(sa.exc.DBAPIError, match="timeout"):
        read_slowly(unpooled_engine(url), "pg_sleep(0.3)")
    read_slowly(without_limits(unpooled_engine(url)), "pg_sleep(0.3)")


@pytest.mark.mariadb
def test_a_load_from_mariadb_may_take_longer_than_the_server_grants(
    new_mariadb_database: Callable[[], str],
) -> None:
    url = new_mariadb_database()
    limit = "SET GLOBAL max_statement_time ="
    with unpooled_engine(url).connect() as connection:
        connection.exec_driver_sql(f"{limit} 0.1")
        try:
            with pytest.raises(OperationalError, match="max_statement_time"):
                read_slowly(unpooled_engine(url), "SLEEP(0.3)")
            read_slowly(without_limits(unpooled_engine(url)), "SLEEP(0.3)")
        finally:
            connection.exec_driver_sql(f"{limit} 0")


def read_slowly(engine: sa.Engine, wait: str) -> None:
    """A transaction that is idle for a while between two statements, each of which takes one."""
    statement = sa.text(f"SELECT {wait} FROM (SELECT 1 UNION SELECT 2) rows_of_two")
    with engine.connect() as connection:
        connection.execute(statement)
        time.sleep(0.3)
        connection.execute(statement)
