"""Tokens for brokers that want OAUTHBEARER: issued for a client's id and secret, or signed here.

librdkafka and Kafka's Java client fetch such tokens by themselves; aiokafka has to be given them.
"""

import asyncio
import ssl
from time import monotonic, time
from typing import Final

import aiohttp
import msgspec
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaConnectionError

from hive.errors import UNDECODABLE
from hive.urls import masked
from state.topic.aws import signed_tokens
from state.topic.settings import Security

TIMEOUT_S: Final = 10.0
USED_SHARE_MAX: Final = 0.8
"""A token is used for this share of its life. Later, the broker may find it expired."""


class _Reply(msgspec.Struct, frozen=True):
    """What an issuer answers, as far as it matters."""

    access_token: str
    expires_in: float = 0.0


# Some issuers write the time as text.
_decode: Final = msgspec.json.Decoder(_Reply, strict=False).decode


class AccessTokens(AbstractTokenProvider):  # type: ignore[misc]
    """Fetches a token when a connection needs one and the last is too old.

    Event loops of several threads may use it.
    """

    def __init__(self, security: Security) -> None:
        """`security` has the settings in librdkafka's words."""
        words = "sasl.oauthbearer."
        self._url = security[f"{words}token.endpoint.url"]
        client, secret = security[f"{words}client.id"], security[f"{words}client.secret"]
        self._headers = {"Authorization": aiohttp.encode_basic_auth(client, secret)}
        self._form = {"grant_type": "client_credentials"}
        if scope := security.get(f"{words}scope"):
            self._form["scope"] = scope
        pairs = security.get(f"{words}extensions", "")
        self._extensions = dict(pair.split("=") for pair in pairs.split(",") if pair)
        self._trusted = ssl.create_default_context(cafile=security.get("https.ca.location"))
        self._token, self._until_s = "", 0.0

    async def token(self) -> str:
        """A token for a new connection. Raises KafkaConnectionError if there is none."""
        if monotonic() >= self._until_s:
            began_s = monotonic()
            try:
                reply = await self._fetch()
            except aiohttp.ClientResponseError as error:
                # The error's own text has the request's headers, and so the secret.
                why = f"it answers {error.status} {error.message}"
                raise KafkaConnectionError(f"{masked(self._url)} issues no token: {why}") from None
            except (aiohttp.ClientError, TimeoutError, *UNDECODABLE) as error:
                why = str(error) or type(error).__name__
                raise KafkaConnectionError(f"{masked(self._url)} issues no token: {why}") from error
            self._token = reply.access_token
            self._until_s = began_s + USED_SHARE_MAX * reply.expires_in
        return self._token

    def extensions(self) -> dict[str, str]:
        """What the brokers are told beside the token."""
        return self._extensions

    async def _fetch(self) -> "_Reply":
        async with (
            asyncio.timeout(TIMEOUT_S),
            aiohttp.ClientSession(trust_env=False, raise_for_status=True) as session,
            session.post(
                self._url,
                data=self._form,
                headers=self._headers,
                ssl=self._trusted,
                allow_redirects=False,
            ) as response,
        ):
            return _decode(await response.read())


class SignedTokens(AbstractTokenProvider):  # type: ignore[misc]
    """Signs a token for AWS MSK when a connection needs one and the last is too old."""

    def __init__(self, security: Security) -> None:
        self._sign = signed_tokens(security["sasl.aws.region"])
        self._token, self._signed_s, self._until_s = "", 0.0, 0.0

    async def token(self) -> str:
        """A token for a new connection. Raises KafkaConnectionError if there is none."""
        began_s = time()
        # A clock that has gone back was wrong when the token was signed, and so is the token.
        if not self._signed_s <= began_s < self._until_s:
            try:
                self._token, end_s = await asyncio.to_thread(self._sign, None)
            # The library raises what its many ways to find a login raise.
            except Exception as error:
                raise KafkaConnectionError(f"no login at AWS: {error}") from error
            self._signed_s = began_s
            self._until_s = began_s + USED_SHARE_MAX * (end_s - began_s)
        return self._token
