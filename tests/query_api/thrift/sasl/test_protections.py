"""What clients choose at the end of a login by Kerberos."""

from pathlib import Path
from typing import Any

import pytest

from hive.errors import RefusedLoginError
from query_api.thrift.sasl.mechanism import Accepted, Challenge
from tests.support.logins.tickets import load_gssapi

pytestmark = pytest.mark.logins
NO_SIZE = bytes(3)
FRAME_BYTES = 1024
"""Nothing is left of such a frame beside what protects it."""


class Context:
    """The context of a client whose ticket is good, and who chooses this."""

    initiator_name = "ann@EXAMPLE.COM"
    choice = b""

    def __init__(self, **_: Any) -> None:
        self.complete = False
        self.message = b""

    def step(self, token: bytes) -> bytes | None:
        self.complete = True
        return token.replace(b"ticket", b"") or None

    def wrap(self, offer: bytes, encrypts: bool) -> "Context":
        self.message = offer
        return self

    def unwrap(self, response: bytes) -> "Context":
        self.message = response
        return self


async def chosen(monkeypatch: pytest.MonkeyPatch, choice: bytes) -> Challenge | Accepted:
    gssapi = load_gssapi()
    from query_api.thrift.sasl import kerberos

    monkeypatch.setattr(kerberos, "credentials_of", lambda *_: None)
    monkeypatch.setattr(gssapi, "SecurityContext", Context)
    mechanism = kerberos.Kerberos("hive/host@EXAMPLE.COM", Path("keytab"), message_bytes_max=1_000)
    exchange = mechanism.begin()
    # A client that doesn't want the server to prove itself gets the offer at once.
    offer = await exchange.answer(b"ticket")
    assert isinstance(offer, Challenge)
    assert offer.data[0] == 7
    return await exchange.answer(choice)


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        (b"\1\0\0", "is a protection and a size"),
        (b"\1" + NO_SIZE + b"eve", "can't log in for another one"),
        (b"\3" + NO_SIZE, "chose the protection 3, which isn't offered"),
        (b"\4" + FRAME_BYTES.to_bytes(3), f"frames of {FRAME_BYTES} bytes only"),
    ],
)
async def test_what_cant_be_is_refused(
    monkeypatch: pytest.MonkeyPatch, choice: bytes, why: str
) -> None:
    with pytest.raises(RefusedLoginError, match=why):
        await chosen(monkeypatch, choice)


@pytest.mark.parametrize("name", [b"", b"ann", b"ann@EXAMPLE.COM"])
async def test_a_client_that_chooses_no_protection_is_let_in(
    monkeypatch: pytest.MonkeyPatch, name: bytes
) -> None:
    accepted = await chosen(monkeypatch, b"\1" + NO_SIZE + name)
    assert accepted == Accepted("ann", principal="ann@EXAMPLE.COM")
