"""What clients may do to the port that tells the state of a connector."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
from prometheus_client import CollectorRegistry, Metric

from connectors import health
from connectors.connector import Status
from hive.errors import MachineError
from tests.support import local_http

LOOPBACK = "127.0.0.1"


@contextmanager
def serving(status: Status | None = None) -> Iterator[int]:
    with health.serving(LOOPBACK, 0, status or Status(), CollectorRegistry()) as (_, port):
        yield port


@pytest.mark.parametrize("host", ["::1", "::", "localhost"])
def test_it_listens_at_addresses_of_any_family(host: str) -> None:
    with health.serving(host, 0, Status(waits_for=None), CollectorRegistry()) as (_, port):
        near = "localhost" if host == "localhost" else "[::1]"
        assert local_http.get(f"http://{near}:{port}/healthz").status_code == 200


def test_one_that_waits_is_not_well_but_alive_and_one_that_hangs_is_neither() -> None:
    status = Status(waits_for=None)

    def codes() -> list[int]:
        base = f"http://{LOOPBACK}:{port}"
        return [local_http.get(f"{base}/{name}").status_code for name in ("healthz", "livez")]

    with serving(status) as port:
        assert codes() == [200, 200]
        status.waits_for = "the database"
        assert codes() == [503, 200]
        status.turned_at -= 2 * health.STUCK_S
        assert codes() == [503, 200]
        status.waits_for = None
        assert codes() == [503, 503]


def connected(stack: ExitStack, port: int) -> socket.socket:
    return stack.enter_context(socket.create_connection((LOOPBACK, port), timeout=60))


def answered(port: int) -> bool:
    return local_http.get(f"http://{LOOPBACK}:{port}/metrics", timeout=60).status_code == 200


def is_ended(opened: socket.socket) -> bool:
    with suppress(ConnectionError):
        return opened.recv(1 << 16) == b""
    return True


def test_a_client_that_says_nothing_or_never_ends_is_hung_up_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health, "EXCHANGE_S", 0.5)
    with serving() as port, ExitStack() as stack:
        silent, slow = connected(stack, port), connected(stack, port)
        slow.sendall(b"GET /healthz HTTP/1.0\r\nX-Y: ")
        # A byte now and then is no end of a request.
        with suppress(ConnectionError, TimeoutError):
            slow.settimeout(0.1)
            while True:
                slow.sendall(b"y")
                with suppress(TimeoutError):
                    if not slow.recv(1):
                        break
        assert is_ended(silent)
        assert answered(port)


def test_many_connections_take_few_threads_and_keep_nobody_out() -> None:
    with serving() as port, ExitStack() as stack:
        before = threading.active_count()
        opened = [connected(stack, port) for _ in range(4 * health.CONNECTIONS_MAX)]
        assert answered(port)
        # All but the last ones have been hung up on.
        for each in opened[: -health.CONNECTIONS_MAX]:
            assert is_ended(each)
        assert threading.active_count() - before <= 2 * health.CONNECTIONS_MAX
        assert answered(port)


def test_a_long_head_is_refused() -> None:
    with serving() as port, ExitStack() as stack:
        opened, answer = connected(stack, port), b""
        with suppress(ConnectionError):
            opened.sendall(b"GET /metrics HTTP/1.0\r\n")
            for _ in range(90):
                opened.sendall(b"X-Y: " + b"y" * 60_000 + b"\r\n")
            opened.sendall(b"\r\n")
            while piece := opened.recv(1 << 16):
                answer += piece
        assert b" 200 " not in answer
        assert answered(port)


def test_metrics_have_the_format_that_is_accepted() -> None:
    with serving() as port:
        url = f"http://{LOOPBACK}:{port}/metrics"
        accepted = {"Accept": "application/openmetrics-text; version=1.0.0"}
        assert local_http.get(url, headers=accepted).text.endswith("# EOF\n")
        assert not local_http.get(url).text.endswith("# EOF\n")


def test_a_port_that_is_taken_is_said_to_be() -> None:
    with serving() as port:
        again = health.serving(LOOPBACK, port, Status(), CollectorRegistry())
        with pytest.raises(MachineError, match=f"can't listen on .*:{port}: "), again:
            pass


def test_a_fault_of_ours_is_told_and_a_client_that_hangs_up_is_not(
    capfd: pytest.CaptureFixture[str],
) -> None:
    class Broken:
        def collect(self) -> list[Metric]:
            raise ZeroDivisionError

    registry = CollectorRegistry()
    registry.register(Broken())
    with health.serving(LOOPBACK, 0, Status(), registry) as (_, port):
        with ExitStack() as stack:
            connected(stack, port).sendall(b"GET /healthz HTTP/1.0\r\n")
        with ExitStack() as stack:
            asking = connected(stack, port)
            asking.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            assert is_ended(asking)
    assert capfd.readouterr().err.count("Exception occurred") == 1
