"""SASL's GSSAPI (RFC 4752): tickets of Kerberos, which a keytab's keys check."""

from collections.abc import Sequence
from enum import IntFlag
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import gssapi
from gssapi.exceptions import GSSError

from hive.errors import InputError, RefusedLoginError
from query_api.thrift.sasl.mechanism import Accepted, Challenge
from query_api.thrift.sasl.principals import user_of
from query_api.thrift.sasl.protected_frames import ProtectedFrames

NAME: Final = "GSSAPI"
FRAME_BYTES_MAX: Final = (1 << 24) - 1
"""The longest frame that the protocol can speak of."""
OVERHEAD_BYTES_MAX: Final = 1024
"""By how much a protected frame may be longer than its content."""
_SIZE_BYTES: Final = 3
_REMEDIES: Final = {
    "Ticket expired": "get a new one, as by kinit",
    "Clock skew too great": "set the clocks of client and server, as by NTP",
}
"""What clients can do, by the reason that the library gives."""


class Protection(IntFlag):
    """What is done for the bytes after a login, as the protocol numbers it."""

    AUTHENTICATION = 1
    INTEGRITY = 2
    PRIVACY = 4


class Kerberos:
    """The mechanism, for the service that a principal names."""

    def __init__(
        self,
        principal: str,
        keytab: Path,
        *,
        least: Protection = Protection.AUTHENTICATION,
        message_bytes_max: int,
    ) -> None:
        """Clients may choose the protection, but none less than `least`. Raises InputError if the
        keytab can't be used.
        """
        self.principal: Final = principal
        self.keytab: Final = keytab
        self._realm = principal.rpartition("@")[2]
        self._offered = sum(protection for protection in Protection if protection >= least)
        self._message_bytes_max = message_bytes_max
        self._credentials = credentials_of(principal, keytab)

    def begin(self) -> "_Exchange":
        return _Exchange(self._credentials, self._realm, self._offered, self._message_bytes_max)


class _Exchange:
    """Checks the ticket, then offers protections, of which the client chooses one."""

    def __init__(self, credentials: Any, realm: str, offered: int, message_bytes_max: int) -> None:
        self._context = gssapi.SecurityContext(creds=credentials, usage="accept")
        # Errors are raised where they occur; the library would have the client tell of them.
        self._context.__DEFER_STEP_ERRORS__ = False
        self._realm = realm
        self._offered = offered
        self._message_bytes_max = message_bytes_max
        self._has_offered = False

    async def answer(self, response: bytes) -> Challenge | Accepted:
        try:
            if self._has_offered:
                return self._chosen(self._context.unwrap(response).message)
            if not self._context.complete:
                token = self._context.step(response)
                if token or not self._context.complete:
                    return Challenge(token or b"")
            return Challenge(self._offer())
        except GSSError as error:
            raise refusal_of(error) from None

    def _offer(self) -> bytes:
        self._has_offered = True
        sizes = FRAME_BYTES_MAX if self._offered > Protection.AUTHENTICATION else 0
        offer = bytes((self._offered,)) + sizes.to_bytes(_SIZE_BYTES, "big")
        message: bytes = self._context.wrap(offer, False).message
        return message

    def _chosen(self, choice: bytes) -> Accepted:
        principal = str(self._context.initiator_name)
        user = user_of(principal, self._realm)
        if len(choice) <= _SIZE_BYTES:
            raise RefusedLoginError("GSSAPI's last response is a protection and a size")
        size, acts_for = int.from_bytes(choice[1 : 1 + _SIZE_BYTES], "big"), choice[4:]
        if acts_for not in (b"", user.encode(), principal.encode()):
            raise RefusedLoginError("a user can't log in for another one", f"{user} tried to")
        if choice[0] not in (*Protection,) or not choice[0] & self._offered:
            raise RefusedLoginError(
                f"the client chose the protection {choice[0]}, which isn't offered: set "
                "hadoop.rpc.protection at the client"
            )
        if choice[0] == Protection.AUTHENTICATION:
            return Accepted(user, principal=principal)
        if size <= OVERHEAD_BYTES_MAX:
            raise RefusedLoginError(f"the client takes frames of {size} bytes only")
        layer = ProtectedFrames(
            self._context,
            encrypts=choice[0] == Protection.PRIVACY,
            sent_bytes_max=size,
            received_bytes_max=self._message_bytes_max + OVERHEAD_BYTES_MAX,
        )
        return Accepted(user, layer=layer, principal=principal)


def credentials_of(
    principal: str, keytab: Path, mechanisms: Sequence[Any] = (gssapi.MechType.kerberos,)
) -> Any:
    """What checks the tickets for a service. Raises InputError if the keytab can't be used."""
    name = gssapi.Name(principal, gssapi.NameType.kerberos_principal)
    # What a stolen ticket's first message proves is nothing without the session's key, which
    # SASL's second one needs, and over HTTP nobody else gets to see it, for TLS is required: so
    # none has to be remembered, on disk and for each login.
    store = {"keytab": str(keytab), "rcache": "none:"}
    try:
        return gssapi.Credentials(name=name, usage="accept", store=store, mechs=mechanisms)
    except GSSError as error:
        raise InputError(
            f"thrift.kerberos_keytab {keytab} can't be used for {principal}: {reason_of(error)}"
        ) from error


def try_keys(principal: str, keytab: Path) -> None:
    """Gets a ticket for the service by its own keys, and checks it by them: so the realm has the
    same keys. Raises InputError if the keytab can't be used, RefusedLoginError with the library's
    reason if there is no such ticket.
    """
    credentials = credentials_of(principal, keytab)
    name = gssapi.Name(principal, gssapi.NameType.kerberos_principal)
    kerberos = gssapi.MechType.kerberos
    # The library keeps what is in memory for as long as the process runs, by this name.
    store = {"client_keytab": str(keytab), "ccache": f"MEMORY:{uuid4()}"}
    try:
        own = gssapi.Credentials(name=name, usage="initiate", store=store, mechs=(kerberos,))
        client = gssapi.SecurityContext(name=name, creds=own, usage="initiate", mech=kerberos)
        server = gssapi.SecurityContext(creds=credentials, usage="accept")
        server.__DEFER_STEP_ERRORS__ = False
        server.step(client.step())
    except GSSError as error:
        raise RefusedLoginError(reason_of(error)) from None


def refusal_of(error: GSSError) -> RefusedLoginError:
    """What a client is told whose ticket is refused."""
    reason = reason_of(error)
    remedy = _REMEDIES.get(reason)
    return RefusedLoginError(f"Kerberos: {reason}{f': {remedy}' if remedy else ''}")


def reason_of(error: GSSError) -> str:
    """What the library for Kerberos says of an error."""
    statuses = error.get_all_statuses(error.min_code, False)
    return "; ".join(statuses) or type(error).__name__
