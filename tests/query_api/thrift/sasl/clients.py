"""Clients that speak SASL byte by byte."""

import base64
from collections.abc import Collection
from typing import Any, NamedTuple

from query_api.thrift.protocol.frames import Frames
from query_api.thrift.sasl import digest
from query_api.thrift.sasl.digest import Digest
from query_api.thrift.sasl.negotiation import Status, frame
from tests.query_api.thrift.serving import Client

AUTHENTICATION, INTEGRITY, PRIVACY = 1, 2, 4


class Said(NamedTuple):
    """A frame of the server."""

    status: int
    data: bytes


async def heard(client: Client) -> Said:
    """The server's next frame."""
    head = await client.reader.readexactly(5)
    return Said(head[0], await client.reader.readexactly(int.from_bytes(head[1:], "big")))


async def log_in(client: Client, user: str, password: str, acts_for: str = "") -> Said:
    """Logs in by PLAIN; returns what the server says of it."""
    response = f"{acts_for}\0{user}\0{password}".encode()
    client.writer.write(frame(Status.START, b"PLAIN") + frame(Status.COMPLETE, response))
    said = await heard(client)
    if said.status == Status.COMPLETE:
        client._frames = Frames()
    return said


class Protected:
    """How a client that chose a protection wraps and unwraps."""

    held_bytes = 0

    def __init__(self, session: Any, protection: int) -> None:
        self._session = session
        self._encrypts = protection == PRIVACY
        self._received = b""

    def framed(self, data: bytes) -> bytes:
        token = self._session.wrap(data, self._encrypts).message
        return len(token).to_bytes(4, "big") + bytes(token)

    def feed(self, data: bytes) -> bytes:
        self._received += data
        content = b""
        while len(self._received) >= 4:
            end = 4 + int.from_bytes(self._received[:4], "big")
            if len(self._received) < end:
                break
            part = self._session.unwrap(self._received[4:end])
            assert part.encrypted == self._encrypts
            content += part.message
            self._received = self._received[end:]
        return content


async def log_in_by_ticket(client: Client, session: Any, protection: int = AUTHENTICATION) -> Said:
    """Logs in with the session of a client; returns what the server says at the end."""
    client.writer.write(frame(Status.START, b"GSSAPI") + frame(Status.OK, session.step()))
    said = await heard(client)
    while said.status == Status.OK and not session.complete:
        client.writer.write(frame(Status.OK, session.step(said.data) or b""))
        said = await heard(client)
    if said.status == Status.OK:
        choice = bytes((protection,)) + (65536).to_bytes(3, "big")
        client.writer.write(frame(Status.COMPLETE, session.wrap(choice, False).message))
        said = await heard(client)
    if said.status == Status.COMPLETE:
        layer: Any = Frames() if protection == AUTHENTICATION else Protected(session, protection)
        client._frames = layer
    return said


class Token(NamedTuple):
    """A token as its client has it."""

    text: str
    identifier: bytes
    password: bytes

    @property
    def password_text(self) -> str:
        return base64.b64encode(self.password).decode()


async def log_in_by_token(
    client: Client, token: Token, password: str = "", username: str = 'username="{}"'
) -> Said:
    """Logs in by a token, or with another password; returns what the server says. `username` is the
    part of the response that names the client.
    """
    client.writer.write(frame(Status.START, b"DIGEST-MD5") + frame(Status.OK, b""))
    challenge = (await heard(client)).data.decode()
    nonce = challenge.partition('nonce="')[2].partition('"')[0]
    name = base64.b64encode(token.identifier).decode()
    uri = f"null/{digest.REALM}"
    response = Digest(name, nonce, "of the client", uri, "")
    value = response._value(password or token.password_text, "AUTHENTICATE")
    client.writer.write(
        frame(
            Status.OK,
            f'charset=utf-8,{username.format(name)},realm="{digest.REALM}",nonce="{nonce}",'
            f'nc=00000001,cnonce="of the client",digest-uri="{uri}",qop=auth,'
            f"response={value}".encode(),
        )
    )
    said = await heard(client)
    if said.status == Status.COMPLETE:
        client._frames = Frames()
    return said


def no_token(_: Collection[str]) -> None:
    """A store of delegation tokens without any."""
