"""Directories that answer otherwise than they should."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest
import structlog.testing

from hive.errors import RefusedLoginError
from query_api.thrift.sasl.ldap import Address, Directories
from query_api.thrift.sasl.plain import WRONG
from tests.query_api.thrift.serving import HOST
from tests.support.logins.certificates import Authority

SUCCESS, WRONG_PASSWORD, UNAVAILABLE = 0, 49, 52


class Tls(NamedTuple):
    """How directories show who they are, and what trusts them."""

    serves: ssl.SSLContext
    trusts: ssl.SSLContext


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    authority = Authority(tmp_path_factory.mktemp("directories") / "authority")
    serves = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serves.load_cert_chain(*authority.sign("directory"))
    return Tls(serves, authority.trusted)


def part(tag: int, content: bytes, *, is_long: bool = False) -> bytes:
    size = len(content).to_bytes(1)
    return bytes((tag,)) + (b"\x82\0" + size if is_long else size) + content


def bound(code: int, *, tag: int = 0x61, is_long: bool = False) -> bytes:
    """The answer to a bind."""
    result = part(0x0A, bytes((code,))) + part(4, b"") + part(4, b"")
    content = part(2, b"\1") + part(tag, result, is_long=is_long)
    return part(0x30, content, is_long=is_long)


@asynccontextmanager
async def directories(tls: Tls, *answers: bytes) -> AsyncIterator[Directories]:
    """Those that give these answers, one each."""
    servers, addresses = [], list[Address]()
    for answer in answers:

        async def serve(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: bytes = answer
        ) -> None:
            size = (await reader.readexactly(2))[1]
            if size == 0x82:
                size = int.from_bytes(await reader.readexactly(2))
            request = await reader.readexactly(size)
            if request.startswith(b"\2\1\1\x60"):
                writer.write(answer)
            writer.close()

        servers.append(await asyncio.start_server(serve, HOST, 0, ssl=tls.serves))
        addresses.append(servers[-1].sockets[0].getsockname())
    try:
        yield Directories(tuple(addresses), "uid={user},dc=x", tls.trusts)
    finally:
        # An open server can keep uvloop from closing: a test that fails would never end.
        for server in servers:
            server.close()


@pytest.mark.parametrize("is_long", [False, True])
async def test_a_directory_may_write_lengths_in_either_form(tls: Tls, is_long: bool) -> None:
    async with directories(tls, bound(SUCCESS, is_long=is_long)) as one:
        assert await one.check("Ann", "secret") == "ann"
    async with directories(tls, bound(WRONG_PASSWORD, is_long=is_long)) as one:
        with pytest.raises(RefusedLoginError, match=WRONG):
            await one.check("ann", "secret")


@pytest.mark.parametrize("length", [10, 200, 250])
async def test_passwords_may_be_long(tls: Tls, length: int) -> None:
    async with directories(tls, bound(SUCCESS)) as only:
        assert await only.check("ann", "x" * length) == "ann"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 400", "the answer isn't LDAP's"),
        (b"\x30\x83\xff\xff\xff", "the answer has 16777215 bytes"),
        (part(0x30, part(2, b"\1")), "the answer is cut off"),
        (part(0x30, part(2, b"\1") + b"\x61\x20"), "the answer is cut off"),
        (bound(SUCCESS, tag=0x65), "the answer isn't that to a bind"),
        (b"", "0 bytes read"),
    ],
)
async def test_the_next_is_asked_where_one_cant_be_understood(
    tls: Tls, answer: bytes, why: str
) -> None:
    async with directories(tls, answer, bound(SUCCESS)) as both:
        with structlog.testing.capture_logs() as logs:
            assert await both.check("ann", "secret") == "ann"
        (said,) = [entry["why"] for entry in logs]
        assert why in said


async def test_a_directory_that_cant_check_passwords_refuses_none(tls: Tls) -> None:
    async with directories(tls, bound(UNAVAILABLE), bound(SUCCESS)) as both:
        with structlog.testing.capture_logs() as logs:
            assert await both.check("ann", "secret") == "ann"
        assert [entry["code"] for entry in logs] == [UNAVAILABLE]
    async with directories(tls, bound(UNAVAILABLE)) as only:
        with pytest.raises(RefusedLoginError, match="no directory can check the password now"):
            await only.check("ann", "secret")
