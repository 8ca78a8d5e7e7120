"""The options of real connections' sockets: to wait for a host that vanished would take a test too
long."""

import socket
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from hive.reader.engines import open_engine, pooled_engine
from hive.reader.lost_hosts import PROBED_EVERY_S, notice_lost_host
from tests.support.socket_options import NOTICING, options_of


@pytest.fixture(
    params=["new_database", pytest.param("new_mariadb_database", marks=pytest.mark.mariadb)],
    ids=["postgresql", "mariadb"],
)
def url(request: pytest.FixtureRequest) -> str:
    new: Callable[[], str] = request.getfixturevalue(request.param)
    return new()


def options(engine: sa.Engine) -> dict[str, int]:
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        number = driver.fileno() if hasattr(driver, "fileno") else driver._sock.fileno()
        return options_of(number)


def test_all_connections_notice_that_their_host_has_vanished(url: str) -> None:
    for engine in (open_engine(url), pooled_engine(url, 1)):
        assert options(engine) == NOTICING
        engine.dispose()


def test_what_a_url_sets_itself_counts(new_database: Callable[[], str]) -> None:
    url = sa.make_url(new_database()).update_query_dict(
        {"keepalives_idle": "77", "tcp_user_timeout": "5000"}
    )
    engine = open_engine(url)
    own = options(engine)
    engine.dispose()
    assert (own["TCP_KEEPIDLE"], own["TCP_USER_TIMEOUT"]) == (77, 5000)
    assert own["TCP_KEEPINTVL"] == PROBED_EVERY_S


def test_a_socket_of_this_machine_has_no_host_to_lose() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        notice_lost_host(ours)
        assert not ours.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
