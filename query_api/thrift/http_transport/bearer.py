"""Bearer (RFC 6750): tokens that an issuer has signed (RFC 7519)."""

from time import time
from typing import Any, Final, NoReturn

import jwt
from jwt.exceptions import (
    ExpiredSignatureError,
    ImmatureSignatureError,
    InvalidAudienceError,
    InvalidIssuerError,
    InvalidSignatureError,
    MissingRequiredClaimError,
    PyJWTError,
)

from hive.errors import RefusedLoginError
from query_api.thrift.http_transport.key_set import KeySource, SigningKey
from query_api.thrift.http_transport.scheme import Proof
from query_api.thrift.sasl.mechanism import TOKEN
from query_api.thrift.sasl.plain import is_user

NAME: Final = "bearer"
SKEW_S: Final = 60
"""By how much the clocks of issuers and this machine may differ."""
VALID_S: Final = 60.0
"""How long a token isn't checked again on the same connection, unless it expires."""
SHOWN_MAX: Final = 64
_FAULTS: Final[dict[type[PyJWTError], str]] = {
    ExpiredSignatureError: "the token has expired",
    ImmatureSignatureError: "the token isn't valid yet",
    InvalidAudienceError: "the token is for another audience",
    InvalidIssuerError: "the token is of another issuer",
    InvalidSignatureError: "the token's signature is wrong",
}


class Bearer:
    """The scheme. Users are the subjects of tokens, as at a metastore."""

    kind: Final = TOKEN

    def __init__(
        self, keys: KeySource, *, issuer: str | None = None, audience: str | None = None
    ) -> None:
        self._keys = keys
        self._issuer = issuer
        self._audience = audience

    def challenge(self, why: str) -> str:
        fault = f', error="invalid_token", error_description="{why}"' if why else ""
        return f'Bearer realm="metatide"{fault}'

    async def check(self, credentials: str) -> Proof:
        key_id, algorithm = _head(credentials)
        keys = await self._keys.keys(key_id)
        key = keys.get(key_id)
        if key is None and not key_id and len(keys) == 1:
            (key,) = keys.values()
        if key is None:
            raise RefusedLoginError(
                "the token is signed by an unknown key",
                f"a token is signed by the unknown key {key_id[:SHOWN_MAX]!r}",
            )
        if algorithm not in key.algorithms:
            raise RefusedLoginError("the token's algorithm isn't that of its key")
        claims = self._claims(credentials, key, algorithm)
        user = claims["sub"]
        if not is_user(user):
            raise RefusedLoginError("the token's subject can't be the name of a user")
        return Proof(user, min(VALID_S, claims["exp"] + SKEW_S - time()))

    def _claims(self, token: str, key: SigningKey, algorithm: str) -> dict[str, Any]:
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=[algorithm],
                issuer=self._issuer,
                audience=self._audience,
                leeway=SKEW_S,
                options={
                    "require": ["exp", "sub"],
                    "verify_aud": self._audience is not None,
                    "verify_iss": self._issuer is not None,
                },
            )
        except PyJWTError as error:
            _refuse(error)
        return claims


def _head(token: str) -> tuple[str, str]:
    """The id of a token's key and the algorithm of its signature."""
    try:
        head = jwt.get_unverified_header(token)
    except PyJWTError as error:
        _refuse(error)
    algorithm = head.get("alg")
    if not isinstance(algorithm, str):
        raise RefusedLoginError("the token can't be read")
    return head.get("kid", ""), algorithm


def _refuse(error: PyJWTError) -> NoReturn:
    why = _FAULTS.get(type(error), "the token can't be read")
    if isinstance(error, MissingRequiredClaimError):
        why = f"the token lacks the claim {error.claim}"
    raise RefusedLoginError(why) from None
