"""What a metastore that checks a token is sent: the response that was read here, not its bytes."""

import asyncio
import base64
from typing import Any, cast

import pytest

from hive.errors import RefusedLoginError
from query_api.thrift.metastore.login.negotiation import Peer
from query_api.thrift.sasl.digest import challenge, read_digest
from query_api.thrift.sasl.mechanism import Accepted, Challenge
from query_api.thrift.sasl.negotiation import Status
from query_api.thrift.sasl.relayed_tokens import RelayedTokens

pytestmark = pytest.mark.anyio
NONCE = "of the metastore"
VALUE = "0123456789abcdef" * 2


class Checking:
    """A metastore that accepts every response."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self._said = [(Status.OK, challenge(NONCE)), (Status.COMPLETE, b"rspauth=x")]

    def send(self, _: Status, data: bytes) -> None:
        self.sent.append(data)

    async def receive(self) -> tuple[int, bytes]:
        return self._said.pop(0)

    def abort(self) -> None:
        pass


def name_of(owner: str) -> str:
    """The name of a token's client in DIGEST-MD5."""
    texts = b"".join(bytes((len(text),)) + text.encode() for text in (owner, "", ""))
    return base64.b64encode(b"\0" + texts + b"\1\2\3\4").decode()


async def login(metastore: Checking, response: bytes) -> Accepted | Challenge:
    async def open_peer() -> tuple[Peer, asyncio.Transport]:
        return cast(Peer, metastore), cast(Any, metastore)

    exchange = RelayedTokens(open_peer, "EXAMPLE.COM").begin()
    assert isinstance(await exchange.answer(b""), Challenge)
    return await exchange.answer(response)


def response(username: str, cnonce: str = '"c"', value: str = VALUE) -> bytes:
    return (
        f'charset=utf-8,{username},realm="default",nonce="{NONCE}",nc=00000001,cnonce={cnonce},'
        f'digest-uri="null/default",maxbuf=65536,qop=auth,response={value}'
    ).encode()


@pytest.mark.parametrize("cnonce", ['"c"', "c", '"a\\\\\\",username=x"'])
async def test_the_metastore_reads_what_was_read_here(cnonce: str) -> None:
    metastore, own = Checking(), response(f' username = "{name_of("ann")}" ', cnonce)
    accepted = await login(metastore, own)
    assert isinstance(accepted, Accepted)
    assert accepted.user == "ann"
    sent = metastore.sent[-1]
    assert sent != own
    assert read_digest(sent, NONCE) == read_digest(own, NONCE)
    inner = cnonce.strip('"')
    written = (
        f'charset=utf-8,username="{name_of("ann")}",realm="default",nonce="{NONCE}",nc=00000001,'
        f'cnonce="{inner}",digest-uri="null/default",qop=auth,response={VALUE}'
    )
    assert sent == written.encode()


@pytest.mark.parametrize(
    ("mine", "value"),
    [
        # Java counts neither character as space, so it reads another name than whoever does.
        ('foo=\x0b"bar,username={mine},baz=",username={other},z=",y=\x0b"', VALUE),
        ('foo=\x0c"bar,username={mine},baz=",username={other},z=",y=\x0c"', VALUE),
        ('username="{mine}",username="{other}"', VALUE),
        ("username={mine}", f'"{VALUE},username={{other}}"'),
        ("username={mine}", VALUE.upper()),
    ],
)
async def test_a_response_that_others_could_read_otherwise_is_refused(
    mine: str, value: str
) -> None:
    metastore, names = Checking(), {"mine": name_of("eve"), "other": name_of("ann")}
    with pytest.raises(RefusedLoginError, match="DIGEST-MD5: the response"):
        await login(metastore, response(mine.format(**names), value=value.format(**names)))
    assert len(metastore.sent) == 2
