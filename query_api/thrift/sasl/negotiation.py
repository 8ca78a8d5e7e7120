"""The negotiation of Thrift's SASL transport, as the server sees it: bytes in, bytes out.

A frame is a status, a length and a payload (TSaslTransport in Thrift's Java library).
"""

from collections.abc import Collection
from enum import IntEnum
from struct import Struct
from typing import Final

from hive.errors import ThriftError

MECHANISM_BYTES_MAX: Final = 64
RESPONSE_BYTES_MAX: Final = 128 * 1024
"""The length of a response; tickets with many groups have up to 64 KiB."""
ROUNDS_MAX: Final = 8
"""The number of responses; no mechanism here takes more than three."""
NOT_SPOKEN: Final = (
    "SASL (Kerberos, PLAIN, tokens) is not spoken here: set hive.metastore.sasl.enabled and "
    "metastore.use.auth=false at the client, or connect it to the metastore itself"
)
HEAD: Final = Struct("!Bi")


class Status(IntEnum):
    """The first byte of a frame."""

    START = 1
    OK = 2
    BAD = 3
    ERROR = 4
    COMPLETE = 5


class State(IntEnum):
    """What a negotiation waits for.

    | from | to | when |
    | --- | --- | --- |
    | START | RESPONSE | the client names a mechanism that is offered |
    | RESPONSE | CHECK | a response is complete |
    | CHECK | RESPONSE | it is answered by a challenge |
    | CHECK | DONE | the client has proved who it is |
    | all but DONE, FAILED | FAILED | a frame is refused, or what it proves |
    """

    START = 0
    RESPONSE = 1
    CHECK = 2
    DONE = 3
    FAILED = 4


NEXT: Final[tuple[tuple[State, ...], ...]] = (
    # START
    (State.RESPONSE, State.FAILED),
    # RESPONSE
    (State.CHECK, State.FAILED),
    # CHECK
    (State.RESPONSE, State.DONE, State.FAILED),
    # DONE
    (),
    # FAILED
    (),
)
"""The states that may follow each state, as in the table of `State`."""


class Negotiation:
    """One client's negotiation. A client sends nothing before its last response is answered."""

    def __init__(self, mechanisms: Collection[str]) -> None:
        self.state = State.START
        self.mechanism = ""
        self._mechanisms = mechanisms
        self._received = bytearray()
        self._rounds = 0

    @property
    def held_bytes(self) -> int:
        """The bytes of frames that aren't complete."""
        return len(self._received)

    def feed(self, data: bytes) -> bytes | None:
        """Takes bytes of the client; returns its response once that is complete. Raises ThriftError
        with the reason for a refusal.
        """
        if self.state not in (State.START, State.RESPONSE):
            raise ThriftError("the client sent data before its last response was answered")
        if not self._mechanisms:
            raise ThriftError(NOT_SPOKEN)
        self._received += data
        if self.state is State.START:
            name = self._frame((Status.START,), MECHANISM_BYTES_MAX)
            if name is None:
                return None
            self._start(name)
        response = self._frame((Status.OK, Status.COMPLETE), RESPONSE_BYTES_MAX)
        if response is None:
            return None
        if self._received:
            raise ThriftError("the client sent data before its last response was answered")
        self._rounds += 1
        if self._rounds > ROUNDS_MAX:
            raise ThriftError(f"the negotiation takes more than {ROUNDS_MAX} rounds")
        self._enter(State.CHECK)
        return response

    def challenge(self, payload: bytes) -> bytes:
        """The frame that answers a response by a challenge."""
        self._enter(State.RESPONSE)
        return frame(Status.OK, payload)

    def complete(self, payload: bytes) -> bytes:
        """The frame that ends the negotiation."""
        self._enter(State.DONE)
        return frame(Status.COMPLETE, payload)

    def refuse(self, why: str) -> bytes:
        """The frame of a refusal, whose text the client shows."""
        self._enter(State.FAILED)
        self._received.clear()
        return frame(Status.BAD, why.encode())

    def _start(self, name: bytes) -> None:
        mechanism = name.decode("ascii", "replace")
        if mechanism not in self._mechanisms:
            offered = ", ".join(sorted(self._mechanisms))
            raise ThriftError(f"unsupported SASL mechanism {mechanism!r}: offered are {offered}")
        self.mechanism = mechanism
        self._enter(State.RESPONSE)

    def _frame(self, expected: tuple[Status, ...], bytes_max: int) -> bytes | None:
        """Removes and returns the payload of the first frame, if it is complete."""
        received = self._received
        if received and received[0] not in expected:
            names = " or ".join(status.name for status in expected)
            raise ThriftError(f"expected SASL's {names}, got a frame with status {received[0]}")
        if len(received) < HEAD.size:
            return None
        _, size = HEAD.unpack_from(received)
        if not 0 <= size <= bytes_max:
            raise ThriftError(f"a SASL frame of {size} bytes: at most {bytes_max}")
        end = HEAD.size + size
        if len(received) < end:
            return None
        payload = bytes(received[HEAD.size : end])
        del received[:end]
        return payload

    def _enter(self, state: State) -> None:
        assert state in NEXT[self.state], f"{self.state.name} can't become {state.name}"
        self.state = state


def frame(status: Status, payload: bytes) -> bytes:
    """A whole frame."""
    return HEAD.pack(status, len(payload)) + payload
