"""Basic (RFC 7617): a name and a password, checked as PLAIN's are."""

import base64
from typing import Final

from hive.errors import RefusedLoginError
from query_api.thrift.http_transport.scheme import Proof
from query_api.thrift.sasl.plain import Passwords, check_password

NAME: Final = "basic"
VALID_S: Final = 300.0
"""How long a password isn't checked again on the same connection."""


class Basic:
    """The scheme. It keeps no password."""

    kind: Final = "Basic"

    def __init__(self, passwords: Passwords) -> None:
        self._passwords = passwords

    def challenge(self, _: str) -> str:
        return 'Basic realm="metatide", charset="UTF-8"'

    async def check(self, credentials: str) -> Proof:
        try:
            # Hive's `metastore.client.http.additional.headers` drops the padding.
            padding = "=" * (-len(credentials) % 4)
            text = base64.b64decode(credentials + padding, validate=True).decode()
        except ValueError:
            raise RefusedLoginError("Basic's credentials are a name and a password") from None
        user, colon, password = text.partition(":")
        if not colon:
            raise RefusedLoginError("Basic's credentials are a name and a password")
        return Proof(await check_password(self._passwords, user, password), VALID_S)
