"""A client's handshake: its negotiation, and the mechanism that checks its responses."""

from collections.abc import Mapping
from typing import Final

from query_api.thrift.protocol.frames import Frames
from query_api.thrift.sasl.mechanism import Accepted, Exchange, Identity, Layer, Mechanism
from query_api.thrift.sasl.negotiation import Negotiation, Status

START: Final = Status.START
"""The first byte of a client that speaks SASL; no message begins with it."""


class Handshake:
    """The handshake of one client."""

    def __init__(self, mechanisms: Mapping[str, Mechanism]) -> None:
        self.identity: Identity | None = None
        """Who the client is, once it has proved it."""
        self.layer: Layer = Frames()
        """What its bytes travel in from then on."""
        self._negotiation = Negotiation(mechanisms)
        self._mechanisms = mechanisms
        self._exchange: Exchange | None = None

    @property
    def held_bytes(self) -> int:
        return self._negotiation.held_bytes

    def feed(self, data: bytes) -> bytes | None:
        """Takes bytes of the client; returns its response once that is complete. Raises ThriftError
        with the reason for a refusal.
        """
        return self._negotiation.feed(data)

    async def answer(self, response: bytes) -> bytes:
        """The frame that answers a response. Raises RefusedLoginError if it proves nothing."""
        negotiation = self._negotiation
        if self._exchange is None:
            self._exchange = self._mechanisms[negotiation.mechanism].begin()
        step = await self._exchange.answer(response)
        if not isinstance(step, Accepted):
            return negotiation.challenge(step.data)
        self.identity = Identity(step.user, negotiation.mechanism, step.principal)
        if step.layer is not None:
            self.layer = step.layer
        return negotiation.complete(step.data)

    def refuse(self, why: str) -> bytes:
        """The frame with which the handshake fails."""
        return self._negotiation.refuse(why)
