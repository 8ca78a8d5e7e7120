"""What passes without a login: calls of workers alone, which prove by themselves who sends them."""

import pytest

from query_api.thrift.forward import FORWARDED
from query_api.thrift.protocol.wire import Message, MessageType, header
from query_api.thrift.sasl.unauthenticated import UnauthenticatedCalls


class Both:
    """The calls behind the gate, and the connection."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.is_writable = True

    def answer_from_cache(self, _: bytes) -> bool:
        return False

    def begin(self, message: Message) -> None:
        self.begun.append(message.method)

    def writable(self, writable: bool) -> None:
        self.is_writable = writable

    def close(self) -> None:
        pass

    def end(self, kind: str, why: str, *, reply: bytes = b"") -> None:
        assert why.encode() in reply
        self.ended.append(kind)


@pytest.mark.parametrize(
    ("method", "kind", "passes"),
    [
        (FORWARDED, MessageType.CALL, True),
        (FORWARDED, MessageType.ONEWAY, False),
        (FORWARDED, MessageType.REPLY, False),
        ("get_table", MessageType.CALL, False),
    ],
)
def test_only_calls_that_need_a_reply_pass(method: str, kind: MessageType, passes: bool) -> None:
    both = Both()
    gate = UnauthenticatedCalls(both, both, frozenset((FORWARDED,)), "log in")
    head = header(kind, method, b"\0\0\0\1")
    gate.begin(Message(head + b"\0", method, kind, b"\0\0\0\1", len(head), 0))
    assert both.begun == ([method] if passes else [])
    assert both.ended == ([] if passes else ["unauthenticated"])


def test_the_calls_behind_the_gate_know_whether_their_client_takes_replies() -> None:
    both = Both()
    UnauthenticatedCalls(both, both, frozenset(), "log in").writable(False)
    assert not both.is_writable
