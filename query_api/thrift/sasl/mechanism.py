"""What a mechanism of SASL is for the server."""

from typing import Final, NamedTuple, Protocol


class Layer(Protocol):
    """How bytes travel after the negotiation, in frames with a length."""

    @property
    def held_bytes(self) -> int:
        """The received bytes of a frame that isn't complete."""
        ...

    def feed(self, data: bytes, /) -> bytes:
        """The bytes within received frames. Raises ThriftError if they can't be read."""
        ...

    def framed(self, data: bytes, more: bytes = b"", /) -> bytes:
        """Wraps bytes to send; in two parts, so that whoever puts a length before them needn't copy
        them twice.
        """
        ...


TOKEN: Final = "JWT"
"""The kind of those who have shown a token, which others can check, too."""


class Identity(NamedTuple):
    """Who a client is."""

    user: str
    kind: str
    """By what it proved that: the name of a mechanism."""
    principal: str = ""
    """Its name as metastores know it, if that's longer."""


class Challenge(NamedTuple):
    """What the client must respond to next."""

    data: bytes


class Accepted(NamedTuple):
    """The end of a negotiation."""

    user: str
    data: bytes = b""
    """For the client, with the end of the negotiation."""
    layer: Layer | None = None
    """What protects the bytes that follow, if anything does."""
    principal: str = ""
    """The user's name as metastores know it, if that's longer."""


class Exchange(Protocol):
    """One client's exchange of responses and challenges."""

    async def answer(self, response: bytes, /) -> Challenge | Accepted:
        """Raises RefusedLoginError if the response doesn't prove what it should."""
        ...


class Mechanism(Protocol):
    """A mechanism that the server offers."""

    def begin(self) -> Exchange: ...
