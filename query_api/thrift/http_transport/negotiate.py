"""Negotiate (RFC 4559): tickets of Kerberos, which a keytab's keys check."""

import base64
from pathlib import Path
from typing import Any, Final

import gssapi
from gssapi.exceptions import GSSError

from hive.errors import RefusedLoginError
from query_api.thrift.http_transport.scheme import Proof
from query_api.thrift.sasl.kerberos import credentials_of, refusal_of
from query_api.thrift.sasl.principals import user_of

NAME: Final = "negotiate"
SERVICE: Final = "HTTP"
"""The service for which clients of HTTP have tickets, whatever the server does."""
_SPNEGO: Final = gssapi.OID.from_int_seq("1.3.6.1.5.5.2")


class Negotiate:
    """The scheme. A ticket counts for the request that it comes with."""

    kind: Final = "SPNEGO"

    def __init__(self, principal: str, keytab: Path) -> None:
        """Raises InputError if the keytab can't be used for this service."""
        self._realm = principal.rpartition("@")[2]
        mechanisms = _SPNEGO, gssapi.MechType.kerberos
        self._credentials = credentials_of(principal, keytab, mechanisms)

    def challenge(self, _: str) -> str:
        return "Negotiate"

    async def check(self, credentials: str) -> Proof:
        try:
            token = base64.b64decode(credentials, validate=True)
        except ValueError:
            raise RefusedLoginError("Negotiate's credentials can't be read") from None
        context: Any = gssapi.SecurityContext(creds=self._credentials, usage="accept")
        # Errors are raised where they occur; the library would have the client tell of them.
        context.__DEFER_STEP_ERRORS__ = False
        try:
            answer = context.step(token)
            if not context.complete:
                raise RefusedLoginError("Negotiate: the first message is to hold a ticket")
            principal = str(context.initiator_name)
            user = user_of(principal, self._realm)
        except GSSError as error:
            raise refusal_of(error) from None
        answer_text = base64.b64encode(answer or b"").decode()
        return Proof(user, answer=answer_text, principal=principal)
