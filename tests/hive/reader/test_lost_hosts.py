"""The options of real connections' sockets: to wait for a host that vanished would take a test too
long."""

import os
import socket
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

from hive.reader.engines import open_engine, pooled_engine
from hive.reader.lost_hosts import (
    GONE_MS,
    PROBED_AFTER_S,
    PROBED_EVERY_S,
    PROBES,
    notice_lost_host,
)


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
        with socket.socket(fileno=os.dup(number)) as used:
            tcp = {
                name: used.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
                for name in ("TCP_USER_TIMEOUT", "TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT")
            }
            return {"SO_KEEPALIVE": used.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), **tcp}


def test_all_connections_notice_that_their_host_has_vanished(url: str) -> None:
    for engine in (open_engine(url), pooled_engine(url, 1)):
        assert options(engine) == {
            "SO_KEEPALIVE": 1,
            "TCP_USER_TIMEOUT": GONE_MS,
            "TCP_KEEPIDLE": PROBED_AFTER_S,
            "TCP_KEEPINTVL": PROBED_EVERY_S,
            "TCP_KEEPCNT": PROBES,
        }
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
        notice_lost_host(SimpleNamespace(_sock=ours), None)
        assert not ours.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
