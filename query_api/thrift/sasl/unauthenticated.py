"""The calls of a client that hasn't proved who it is, on a server where it must."""

from typing import Final, Protocol

from query_api.thrift.connection.calls import Calls
from query_api.thrift.protocol.wire import Fault, Message, MessageType, refusal

NEEDS_SASL_LOGIN: Final = (
    "this server lets in only clients that prove who they are by SASL: set "
    "hive.metastore.sasl.enabled=true (Kerberos, tokens) or hive.metastore.client.auth.mode=PLAIN "
    "at the client"
)
NEEDS_HTTP_LOGIN: Final = (
    "this server lets in only clients that prove who they are by tokens over HTTP: set "
    "hive.metastore.client.thrift.transport.mode=http and the port of thrift.http_port at the "
    "client"
)


class _Ending(Protocol):
    def end(self, kind: str, why: str, *, reply: bytes = b"") -> None: ...


class UnauthenticatedCalls:
    """Refuses all calls but those that prove by themselves that a worker sends them."""

    def __init__(
        self, calls: Calls, connection: _Ending, allowed: frozenset[str], why: str
    ) -> None:
        self._calls = calls
        self._connection = connection
        self._allowed = allowed
        self._why = why

    def answer_from_cache(self, _: bytes) -> bool:
        return False

    def begin(self, message: Message) -> None:
        if message.kind == MessageType.CALL and message.method in self._allowed:
            self._calls.begin(message)
            return
        reply = refusal(message.method, message.sequence, Fault.PROTOCOL_ERROR, self._why)
        self._connection.end("unauthenticated", self._why, reply=reply)

    def writable(self, writable: bool) -> None:
        self._calls.writable(writable)

    def close(self) -> None:
        self._calls.close()
