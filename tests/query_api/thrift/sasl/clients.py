"""Clients that speak SASL byte by byte."""

from collections.abc import Collection
from typing import NamedTuple

from query_api.thrift.frames import Frames
from query_api.thrift.sasl.negotiation import Status, frame
from tests.query_api.thrift.serving import Client


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


def no_token(_: Collection[str]) -> None:
    """A store of delegation tokens without any."""
