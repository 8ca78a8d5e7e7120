"""What a metastore that checks a token is sent: the response that was read here, not its bytes."""

import asyncio
import base64
from typing import Any, cast

import pytest
import structlog.testing

from hive.errors import RefusedLoginError
from query_api.thrift.metastore.login.negotiation import SaslFrames
from query_api.thrift.sasl.digest import challenge, read_digest
from query_api.thrift.sasl.mechanism import Accepted, Challenge
from query_api.thrift.sasl.negotiation import Status
from query_api.thrift.sasl.relayed_tokens import RelayedTokens
from query_api.thrift.sasl.tokens import DelegationTokens, identifier_of, owner_of

pytestmark = pytest.mark.anyio
NONCE = "of the metastore"
VALUE = "0123456789abcdef" * 2


class Checking:
    """A metastore that accepts every response."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.said = [(Status.OK, challenge(NONCE)), (Status.COMPLETE, b"rspauth=x")]

    def send(self, _: Status, data: bytes) -> None:
        self.sent.append(data)

    async def receive(self) -> tuple[int, bytes]:
        return self.said.pop(0)

    def abort(self) -> None:
        pass


def name_of(owner: str) -> str:
    """The name of a token's client in DIGEST-MD5."""
    texts = b"".join(bytes((len(text),)) + text.encode() for text in (owner, "", ""))
    return base64.b64encode(b"\0" + texts + b"\1\2\3\4").decode()


def relaying(metastore: Checking) -> RelayedTokens:
    async def open_frames() -> tuple[SaslFrames, asyncio.Transport]:
        return cast(SaslFrames, metastore), cast(Any, metastore)

    return RelayedTokens(open_frames, "EXAMPLE.COM")


async def login(metastore: Checking, response: bytes) -> Accepted | Challenge:
    exchange = relaying(metastore).begin()
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


async def test_a_metastore_that_wants_more_than_there_is_is_told() -> None:
    metastore = Checking()
    metastore.said[1] = (Status.OK, b"more?")
    own = response(f'username="{name_of("ann")}"')
    with (
        structlog.testing.capture_logs() as logs,
        pytest.raises(RefusedLoginError, match="can't be checked now"),
    ):
        await login(metastore, own)
    assert [entry["why"] for entry in logs] == [
        "it wants more of a login by DIGEST-MD5 than there is"
    ]


@pytest.mark.parametrize(
    "tokens",
    [relaying(Checking()), DelegationTokens(lambda _: None, "EXAMPLE.COM")],
    ids=["relayed", "read"],
)
async def test_a_response_without_a_challenge_is_refused(
    tokens: RelayedTokens | DelegationTokens,
) -> None:
    with pytest.raises(RefusedLoginError, match="begins with a challenge"):
        await tokens.begin().answer(b"first")
    assert isinstance(await tokens.begin().answer(b""), Challenge)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no base64", "isn't the identifier"),
        ("\u00e9", "isn't the identifier"),
        ("", "isn't the identifier"),
        (name_of(""), "without an owner"),
    ],
)
async def test_a_name_that_is_no_tokens_is_refused(name: str, why: str) -> None:
    with pytest.raises(RefusedLoginError, match=why):
        owner_of(identifier_of(name), "EXAMPLE.COM")
    assert owner_of(identifier_of(name_of("ann@EXAMPLE.COM")), "EXAMPLE.COM").user == "ann"
