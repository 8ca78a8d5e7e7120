"""A login by a delegation token, by DIGEST-MD5."""

import base64
import secrets
from hmac import compare_digest
from typing import Final

from hive.delegation_tokens import Token
from hive.errors import UpstreamError
from query_api.thrift.metastore.login.negotiation import Response
from query_api.thrift.protocol.frames import Frames
from query_api.thrift.sasl.digest import NAME, REALM, Digest, nonce_of
from query_api.thrift.sasl.mechanism import Layer

_URI: Final = f"null/{REALM}"
"""What Hadoop's clients say that they log in at."""
_NONCE_BYTES: Final = 24


class TokenExchange:
    """One login."""

    mechanism: Final = NAME

    def __init__(self, token: Token) -> None:
        self._user = base64.b64encode(token.identifier).decode()
        self._password = base64.b64encode(token.password).decode()
        self._digest: Digest | None = None

    async def answer(self, challenge: bytes) -> Response:
        if not challenge:
            return Response(b"")
        nonce, own_nonce = nonce_of(challenge), secrets.token_urlsafe(_NONCE_BYTES)
        self._digest = Digest(self._user, nonce, own_nonce, _URI, "")
        return Response(self._digest.text(self._password))

    def finish(self, data: bytes) -> Layer:
        if self._digest is None or not compare_digest(self._digest.proof(self._password), data):
            raise UpstreamError("it doesn't prove that it knows the delegation token")
        return Frames()
