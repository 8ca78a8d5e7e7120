"""Metastores that speak Kerberos, but not as they should."""

from typing import Any

import pytest

from hive.errors import UpstreamError
from query_api.thrift.sasl.negotiation import Status, frame
from tests.query_api.thrift.metastore.login.scripted_metastore import logged_in
from tests.support.logins.tickets import load_gssapi

pytestmark = pytest.mark.logins
SIZE = (1 << 20).to_bytes(3)
FRAME_BYTES = 1024
"""Nothing is left of such a frame beside what protects it."""


class Session:
    """A context of Kerberos that says what it is told to say."""

    def __init__(self, offer: bytes = b"", *, fails: bool = False) -> None:
        self.complete = not fails
        self.message = offer

    def step(self, _: bytes) -> bytes:
        raise load_gssapi().exceptions.GSSError(0, 0)

    def unwrap(self, _: bytes) -> "Session":
        return self

    async def begin(self, _: str) -> tuple["Session", bytes]:
        return self, b"ticket"


@pytest.mark.parametrize(
    ("session", "said", "why"),
    [
        (Session(fails=True), frame(Status.OK, b"x"), "^Kerberos: "),
        (Session(), frame(Status.COMPLETE, b""), "ended a login by Kerberos before its end"),
        (Session(b"\1\0\0"), frame(Status.OK, b"x"), "offer of protections can't be read"),
        (Session(b"\0" + SIZE), frame(Status.OK, b"x"), "offer of protections can't be read"),
        (
            Session(b"\4" + FRAME_BYTES.to_bytes(3)),
            frame(Status.OK, b"x"),
            f"takes frames of {FRAME_BYTES} bytes only",
        ),
    ],
)
async def test_a_metastore_that_speaks_kerberos_otherwise_is_told(
    session: Any, said: bytes, why: str
) -> None:
    load_gssapi()
    from query_api.thrift.metastore.login.kerberos import KerberosExchange

    with pytest.raises(UpstreamError, match=why):
        await logged_in(KerberosExchange(session, "hive@host"), said)
