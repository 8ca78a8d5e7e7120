"""The keys by which issuers of tokens sign, as a JSON Web Key Set (RFC 7517)."""

import asyncio
import ssl
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple, Protocol

import httpx
import msgspec
import structlog
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from hive.errors import UNDECODABLE, RefusedLoginError
from query_api.background_tasks import outcome, take_note
from query_api.watched_file import file_version

BYTES_MAX: Final = 1 << 20
KEYS_MAX: Final = 256
FETCH_TIMEOUT_S: Final = 5.0
FRESH_S: Final = 300.0
"""How long the keys of a URL aren't fetched again, unless a token names one that isn't there."""
KEPT_S: Final = 3600.0
"""How long they are used when they can't be fetched again."""
UNKNOWN_EVERY_S: Final = 10.0
"""How often they are fetched for tokens with unknown keys, at most."""
_RSA: Final = frozenset(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"))
"""What a key of RSA signs by that doesn't say so."""
_FAMILIES: Final = frozenset(("RSA", "EC", "OKP"))
"""The kinds of keys whose holders alone can sign; a secret that both sides have is none."""

log = structlog.get_logger(__name__)


class SigningKey(NamedTuple):
    """A public key."""

    key: Any
    algorithms: frozenset[str]
    """By which its holder signs."""


Keys = Mapping[str, SigningKey]


class KeySource(Protocol):
    """Where keys come from."""

    async def keys(self, wanted: str, /) -> Keys:
        """The keys by their ids, read again if the `wanted` one isn't among those at hand. Raises
        RefusedLoginError if there are none at all.
        """
        ...


class _KeySet(msgspec.Struct):
    keys: list[dict[str, Any]]


class KeyFile:
    """A file, which is read again when it has changed. While it can't be read, no token counts:
    `WatchedFile` would go on with the keys that somebody has taken away.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._keys: Keys = {}
        self._version: tuple[int, ...] = ()
        self._turn = asyncio.Lock()

    async def keys(self, _: str) -> Keys:
        async with self._turn:
            return await asyncio.to_thread(self._read)

    def _read(self) -> Keys:
        try:
            version = file_version(self._path)
            if not version or version != self._version:
                self._keys = read_keys(self._path.read_bytes()[: BYTES_MAX + 1])
                self._version = version
        except (OSError, ValueError) as error:
            log.warning("the keys of thrift.jwt_keys can't be read", error=str(error))
            raise _unreadable() from None
        return self._keys


class KeyUrl:
    """A URL, which is read again after a while, and when a token names a key that isn't there."""

    def __init__(self, url: str, trusted: ssl.SSLContext) -> None:
        self._url = url
        self._trusted = trusted
        self._keys: Keys = {}
        self._fetched_at = self._tried_at = float("-inf")
        self._fetching: asyncio.Task[None] | None = None

    async def keys(self, wanted: str) -> Keys:
        is_due = self._is_due(wanted)
        if is_due and not self._is_fetching:
            self._tried_at = monotonic()
            self._fetching = asyncio.create_task(self._fetch())
            self._fetching.add_done_callback(take_note)
        if self._fetching is not None and (is_due or wanted not in self._keys):
            # It goes on if this client goes: others may wait for the same.
            await outcome(self._fetching)
        return self._usable()

    @property
    def _is_fetching(self) -> bool:
        return self._fetching is not None and not self._fetching.done()

    def _is_due(self, wanted: str) -> bool:
        now = monotonic()
        is_old = now - self._fetched_at >= FRESH_S
        return (is_old or wanted not in self._keys) and now - self._tried_at >= UNKNOWN_EVERY_S

    def _usable(self) -> Keys:
        if monotonic() - self._fetched_at >= KEPT_S:
            raise _unreadable()
        return self._keys

    async def _fetch(self) -> None:
        try:
            self._keys = await fetch_keys(self._url, self._trusted)
            self._fetched_at = monotonic()
        except ValueError as error:
            log.warning("the keys of thrift.jwt_keys can't be fetched", error=str(error))


async def fetch_keys(url: str, trusted: ssl.SSLContext) -> Keys:
    """The keys that a URL has now. Raises ValueError with the reason if there are none."""
    try:
        async with asyncio.timeout(FETCH_TIMEOUT_S):
            return read_keys(await _body(url, trusted))
    except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError) as error:
        raise ValueError(str(error) or "no answer in time") from None


async def _body(url: str, trusted: ssl.SSLContext) -> bytes:
    body = bytearray()
    async with (
        httpx.AsyncClient(verify=trusted, trust_env=False) as client,
        client.stream("GET", url, headers={"accept": "application/json"}) as response,
    ):
        if response.status_code != httpx.codes.OK:
            raise ValueError(f"status {response.status_code}")
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > BYTES_MAX:
                break
    return bytes(body)


def read_keys(data: bytes) -> Keys:
    """The keys of a set that can check signatures. Raises ValueError if it can't be read."""
    if len(data) > BYTES_MAX:
        raise ValueError(f"a key set of more than {BYTES_MAX} bytes")
    try:
        listed = msgspec.json.decode(data, type=_KeySet).keys
    except UNDECODABLE as error:
        raise ValueError(f"no key set: {error}") from None
    if len(listed) > KEYS_MAX:
        raise ValueError(f"a key set of more than {KEYS_MAX} keys")
    keys = {}
    for described in listed:
        if str(described.get("kty")) not in _FAMILIES or described.get("use", "sig") != "sig":
            continue
        try:
            keys[str(described.get("kid", ""))] = _signing_key(described)
        except (PyJWTError, ValueError):
            # The error may show the key, which may be a private one by mistake. Other keys are as
            # good as if this one weren't there.
            log.warning("a key of thrift.jwt_keys can't be used", key=described.get("kid"))
    if not keys:
        raise ValueError("no key of the set can check signatures")
    return keys


def _signing_key(described: dict[str, Any]) -> SigningKey:
    if "d" in described:
        raise ValueError("a private key, which is to be the issuer's alone")
    key = PyJWK(described)
    is_open = described["kty"] == "RSA" and "alg" not in described
    return SigningKey(key.key, _RSA if is_open else frozenset((key.algorithm_name,)))


def _unreadable() -> RefusedLoginError:
    return RefusedLoginError("no key can be read now that checks tokens: try again later")
