"""Keys that many clients need at once."""

import asyncio
import json
import ssl

import pytest

from query_api.thrift.http_transport import key_set
from query_api.thrift.http_transport.key_set import KEYS_MAX, KeyUrl, SigningKey, read_keys
from tests.query_api.thrift.http_transport.issuer import Issuer

KEY = SigningKey("key", frozenset())


async def test_a_client_that_goes_while_keys_are_fetched_keeps_them_from_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_answer, fetches = asyncio.Event(), []

    async def fetch(url: str, trusted: ssl.SSLContext) -> key_set.Keys:
        fetches.append(url)
        await may_answer.wait()
        return {"k": KEY}

    monkeypatch.setattr(key_set, "fetch_keys", fetch)
    keys = KeyUrl("https://issuer.example.com/keys", ssl.create_default_context())
    first, second = (asyncio.create_task(keys.keys("k")) for _ in range(2))
    while not fetches:
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    may_answer.set()
    assert await second == {"k": KEY}


@pytest.mark.parametrize(
    ("count", "why"),
    [(KEYS_MAX, "no key of the set can check"), (KEYS_MAX + 1, f"more than {KEYS_MAX} keys")],
)
def test_a_set_has_so_many_keys(count: int, why: str) -> None:
    data = json.dumps({"keys": [{"kty": "oct"}] * count}).encode()
    with pytest.raises(ValueError, match=why):
        read_keys(data)


@pytest.mark.parametrize("family", [[], {}, None, 5])
def test_a_key_of_no_family_leaves_the_others(family: object) -> None:
    issuer = Issuer()
    issuer.add("good", "EdDSA")
    keys = [{"kty": family, "kid": "none"}, issuer.describe("good")]
    assert read_keys(json.dumps({"keys": keys}).encode()).keys() == {"good"}


def test_a_set_of_too_many_levels_can_not_be_read() -> None:
    with pytest.raises(ValueError, match="no key set"):
        read_keys(b'{"keys":[{"x":' + b"[" * 5000)
