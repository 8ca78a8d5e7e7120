"""Logins at metastores that don't go as they should."""

import struct
from collections.abc import Iterable
from pathlib import Path

import pytest

from hive.delegation_tokens import Token
from hive.errors import UpstreamError
from query_api.thrift.metastore.login.negotiation import Exchange
from query_api.thrift.metastore.login.password import PasswordLogin
from query_api.thrift.metastore.login.token import TokenExchange
from query_api.thrift.protocol.frames import Frames
from query_api.thrift.sasl.digest import challenge
from query_api.thrift.sasl.negotiation import RESPONSE_BYTES_MAX, ROUNDS_MAX, Status, frame
from tests.query_api.thrift.metastore.login.scripted_metastore import logged_in


@pytest.fixture
def password(tmp_path: Path) -> Exchange:
    (tmp_path / "password").write_text("secret")
    return PasswordLogin("ann", tmp_path / "password").exchange("host")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "hung up on a login"),
        (frame(Status.COMPLETE, b"proof")[:-1], "hung up on a login"),
        (struct.pack("!Bi", Status.OK, -1), "what it sent is no frame"),
        (struct.pack("!Bi", Status.OK, RESPONSE_BYTES_MAX + 1), "what it sent is no frame"),
        (frame(Status.BAD, b"not you"), "it refuses the login: 'not you'"),
        (frame(Status.START, b""), "a frame with status 1"),
        (frame(Status.OK, b"more?"), "asks for more than a name and a password"),
    ],
)
async def test_a_metastore_that_speaks_no_sasl_is_told(
    password: Exchange, said: bytes, why: str
) -> None:
    assert isinstance(await logged_in(password, frame(Status.COMPLETE, b"")), Frames)
    with pytest.raises(UpstreamError, match=why):
        await logged_in(password, said)


async def test_a_login_has_so_many_rounds(password: Exchange) -> None:
    rounds = frame(Status.OK, b"") * ROUNDS_MAX
    with pytest.raises(UpstreamError, match=f"more than {ROUNDS_MAX} rounds"):
        await logged_in(password, rounds + frame(Status.COMPLETE, b""))


@pytest.mark.parametrize("said", [[], [frame(Status.OK, challenge("nonce"))]])
async def test_a_metastore_must_know_the_token_itself(said: Iterable[bytes]) -> None:
    exchange = TokenExchange(Token(b"name", b"secret"))
    with pytest.raises(UpstreamError, match="doesn't prove that it knows the delegation token"):
        await logged_in(exchange, b"".join((*said, frame(Status.COMPLETE, b"rspauth=x"))))
