"""Tokens for connections to brokers: when they are fetched, and what becomes of a failure."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import time
from urllib.parse import parse_qs

import pytest
from aiokafka.errors import KafkaConnectionError

from processors.consumer import access_tokens
from processors.consumer.access_tokens import AccessTokens, SignedTokens

Requests = list[dict[str, list[str]]]


@asynccontextmanager
async def issuer(body: bytes) -> AsyncIterator[tuple[str, Requests]]:
    """A server that answers each request with this body, by its URL, and the forms that came."""
    forms: Requests = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        [length] = [line for line in head.lower().split(b"\r\n") if b"content-length" in line]
        form = await reader.readexactly(int(length.partition(b":")[2]))
        forms.append(parse_qs(form.decode()))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/token", forms


def tokens_of(url: str) -> AccessTokens:
    words = "sasl.oauthbearer."
    names = {"token.endpoint.url": url, "client.id": "w", "client.secret": "s", "scope": "kafka"}
    return AccessTokens({words + name: value for name, value in names.items()})


async def test_a_token_is_asked_for_with_its_scope_and_kept() -> None:
    async with issuer(b'{"access_token": "abc", "expires_in": 300}') as (url, forms):
        tokens = tokens_of(url)
        assert [await tokens.token(), await tokens.token()] == ["abc", "abc"]
    assert forms == [{"grant_type": ["client_credentials"], "scope": ["kafka"]}]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"<html>", "malformed"),
        (b"\xff", "malformed"),
        (b"{}", "`access_token`"),
        (b'{"access_token": 7}', "$.access_token"),
        (b"[]", "array"),
        (b'{"access_token": "abc", "expires_in": null}', "expires_in"),
        (b'{"access_token": "abc", "expires_in": "soon"}', "expires_in"),
    ],
)
async def test_an_answer_without_a_token_is_a_failed_connection(body: bytes, why: str) -> None:
    async with issuer(body) as (url, _):
        with pytest.raises(KafkaConnectionError, match="issues no token: ") as failed:
            await tokens_of(url).token()
    assert why in str(failed.value)


async def test_a_signed_token_is_kept_and_a_failure_is_a_failed_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    signed = iter([("one", time() + 900)])
    monkeypatch.setattr(access_tokens, "signed_tokens", lambda _: lambda _: next(signed))
    tokens = SignedTokens({"sasl.aws.region": "eu-central-1"})
    assert [await tokens.token(), await tokens.token()] == ["one", "one"]
    tokens._until_s = 0

    def fail(_: None) -> None:
        raise LookupError("no credentials")

    monkeypatch.setattr(tokens, "_sign", fail)
    with pytest.raises(KafkaConnectionError, match="no login at AWS: no credentials"):
        await tokens.token()


async def test_a_token_that_was_signed_while_the_clock_was_ahead_is_left_when_the_clock_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = time() + 3 * 3600
    monkeypatch.setattr(access_tokens, "time", lambda: now_s)
    monkeypatch.setattr(
        access_tokens, "signed_tokens", lambda _: lambda _: (f"of {now_s}", now_s + 900)
    )
    tokens = SignedTokens({"sasl.aws.region": "eu-central-1"})
    assert await tokens.token() == f"of {now_s}"
    now_s -= 3 * 3600
    assert await tokens.token() == f"of {now_s}"
