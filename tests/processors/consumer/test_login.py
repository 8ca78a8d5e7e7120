"""Trying to reach brokers leaves nothing open."""

import gc
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

from metatide.config import load
from metatide.stack.machine import LOOPBACK
from processors.consumer.login import login_fault
from tests.support.logins.certificates import Authority

TIMEOUT_S = 0.5


@contextmanager
def silent(context: ssl.SSLContext) -> Iterator[int]:
    """A server that greets and then says nothing, not even when it is left; yields its port."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server((LOOPBACK, 0)))

        def greet() -> None:
            while True:
                try:
                    stack.enter_context(context.wrap_socket(listener.accept()[0], server_side=True))
                except OSError:
                    return

        thread = Thread(target=greet)
        thread.start()
        stack.callback(thread.join)
        stack.callback(listener.shutdown, socket.SHUT_RDWR)
        yield listener.getsockname()[1]


def test_nothing_is_left_open_to_a_broker_that_does_not_let_go(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    broker = authority.sign("broker", LOOPBACK)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(broker.certificate, broker.key)
    environ = {
        "METATIDE_KAFKA_SECURITY_PROTOCOL": "ssl",
        "METATIDE_KAFKA_SSL_CA_LOCATION": str(authority.certificate),
    }
    security = load(environ=environ).config.kafka.security
    with silent(context) as port:
        assert login_fault(f"{LOOPBACK}:{port}", security, TIMEOUT_S) is not None
        # A socket that is left warns here.
        gc.collect()


def test_a_broker_that_is_reached_is_no_fault(kafka_broker: str) -> None:
    assert login_fault(kafka_broker, {}, 10) is None


def test_brokers_that_say_nothing_are_waited_for_so_long() -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:
        servers = ",".join([f"{LOOPBACK}:{listener.getsockname()[1]}"] * 9)
        assert login_fault(servers, {}, 0.05) == "no answer within 0.1 s"
