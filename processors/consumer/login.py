"""Tries to reach the brokers by the library through which workers follow the topic."""

import asyncio
import logging
from typing import Any

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError
from faust.transport.drivers.aiokafka import credentials_to_aiokafka_auth

from processors.consumer.credentials import credentials
from state.topic.last_error import LastError
from state.topic.settings import Security


class _Loop(asyncio.SelectorEventLoop):
    """Knows its connections, for the library doesn't wait until those are closed that it gives up.
    With TLS, that takes a word of the broker.
    """

    def __init__(self) -> None:
        super().__init__()
        self._opened: list[asyncio.Transport] = []

    async def create_connection(self, *args: Any, **more: Any) -> Any:
        transport, protocol = await super().create_connection(*args, **more)
        self._opened.append(transport)
        return transport, protocol

    async def close_connections(self) -> None:
        for transport in self._opened:
            transport.abort()
        # Sockets are closed in the next turn.
        await asyncio.sleep(0)


def login_fault(servers: str, security: Security, timeout_s: float) -> str | None:
    """Why the library doesn't reach the brokers; None if it does."""
    loop = _Loop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        fault = runner.run(_login_fault(servers, security, timeout_s))
        runner.run(loop.close_connections())
    return fault


async def _login_fault(servers: str, security: Security, timeout_s: float) -> str | None:
    auth = credentials_to_aiokafka_auth(credentials(security))
    client = AIOKafkaClient(
        bootstrap_servers=servers, request_timeout_ms=int(1000 * timeout_s), **auth
    )
    errors = LastError()
    library = logging.getLogger("aiokafka")
    library.addHandler(errors)
    try:
        async with asyncio.timeout(2 * timeout_s):
            await client.bootstrap()
        # A broker that refuses a token ends the connection after the library takes it for good.
        if not client.cluster.brokers():
            return errors.text or "the brokers end the connection: is the login right?"
    except TimeoutError:
        return f"no answer within {2 * timeout_s:g} s"
    except KafkaError as error:
        return errors.text or str(error)
    finally:
        library.removeHandler(errors)
        await client.close()
    return None
