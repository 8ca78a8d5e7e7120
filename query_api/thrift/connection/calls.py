"""What a connection hands its client's calls to."""

from typing import Protocol

from query_api.thrift.protocol.wire import Message


class Calls(Protocol):
    """Handles the calls of one client. Each call ends with `Connection.done`; only then does the
    next one begin.
    """

    def answer_from_cache(self, data: bytes, /) -> bool:
        """Answers these bytes without scanning them, if they are exactly one call whose reply is
        cached; returns whether it did.
        """
        ...

    def begin(self, message: Message, /) -> None: ...

    def writable(self, writable: bool, /) -> None:
        """Called when the client stops or resumes taking what it is sent."""

    def close(self) -> None:
        """Ends all calls, because the client is gone."""
