"""A token for a user is asked for once, however many wait for it."""

import asyncio

import pytest

from hive.delegation_tokens import Token
from hive.errors import UpstreamError
from query_api.thrift.metastore.link import Address
from query_api.thrift.metastore.login import impersonation
from query_api.thrift.metastore.login.impersonation import Impersonation, ask_for_token
from query_api.thrift.metastore.upstream import Upstreams, UpstreamSettings
from tests.query_api.thrift import serving
from tests.query_api.thrift.serving import result

pytestmark = pytest.mark.anyio
ADDRESS: Address = ("metastore", 9083)


class Metastore:
    """Gives tokens, or none in time."""

    def __init__(self) -> None:
        self.users: list[str] = []
        self.answers = True

    async def fetch(self, _: Address, user: str) -> Token:
        self.users.append(user)
        await asyncio.sleep(0)
        if not self.answers:
            raise UpstreamError("no answer in time")
        return Token(user.encode(), b"%d" % len(self.users))


async def test_all_who_wait_have_the_same_token_or_failure() -> None:
    metastore = Metastore()
    tokens, metastore.answers = Impersonation(metastore.fetch), False
    failures = await asyncio.gather(
        *(tokens.token(ADDRESS, "ann") for _ in range(20)), return_exceptions=True
    )
    assert {type(failure) for failure in failures} == {UpstreamError}
    assert metastore.users == ["ann"]
    metastore.answers = True
    received = await asyncio.gather(*(tokens.token(ADDRESS, "ann") for _ in range(20)))
    assert {*received} == {Token(b"ann", b"2")}
    assert await tokens.token(ADDRESS, "ann") == received[0]
    assert metastore.users == ["ann"] * 2


async def test_a_token_that_is_refused_is_replaced() -> None:
    metastore = Metastore()
    tokens = Impersonation(metastore.fetch)
    refused = await tokens.token(ADDRESS, "ann")
    for _ in range(2):
        tokens.forget(ADDRESS, "ann", refused)
        assert await tokens.token(ADDRESS, "ann") == Token(b"ann", b"2")
    assert await tokens.token(ADDRESS, "eve") == Token(b"eve", b"3")


async def test_so_many_tokens_are_kept_the_last_used_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(impersonation, "TOKENS_MAX", 2)
    metastore = Metastore()
    tokens = Impersonation(metastore.fetch)
    for user in ("ann", "bob", "ann", "eve", "ann", "bob"):
        await tokens.token(ADDRESS, user)
    assert metastore.users == ["ann", "bob", "eve", "bob"]


@pytest.mark.parametrize(
    ("kind", "reply", "why"),
    [
        (3, b"\0", "gives no delegation tokens"),
        (2, result("no token"), "delegation token can't be read"),
        (2, b"\x0b\0\0\0\0\0\2\xff\xff\0", "delegation token can't be read"),
        (2, b"\0", "doesn't let metatide act for ann.*it doesn't say why"),
    ],
)
async def test_why_a_metastore_gives_no_token_is_told(kind: int, reply: bytes, why: str) -> None:
    metastore = serving.Metastore()
    metastore.kinds["get_delegation_token"] = kind
    metastore.replies["get_delegation_token"] = reply
    await metastore.start()
    link = await Upstreams(UpstreamSettings((metastore.address,))).open()
    with pytest.raises(UpstreamError, match=why):
        await ask_for_token(link, "ann", "metatide")
    link.close()
    await metastore.stop()
