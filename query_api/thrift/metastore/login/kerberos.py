"""A login by a ticket of Kerberos, by GSSAPI (RFC 4752); a keytab's keys get the ticket."""

import asyncio
import shutil
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import gssapi
from gssapi.exceptions import GSSError

from hive.errors import UpstreamError
from query_api.thrift.metastore.login.negotiation import Response
from query_api.thrift.protocol.frames import FRAME_BYTES_MAX, Frames
from query_api.thrift.sasl.kerberos import FRAME_BYTES_MAX as SENT_BYTES_MAX
from query_api.thrift.sasl.kerberos import NAME, OVERHEAD_BYTES_MAX, Protection, reason_of
from query_api.thrift.sasl.mechanism import Layer
from query_api.thrift.sasl.protected_frames import ProtectedFrames

_OFFER_BYTES: Final = 4
_FLAGS: Final = (
    gssapi.RequirementFlag.mutual_authentication
    | gssapi.RequirementFlag.integrity
    | gssapi.RequirementFlag.confidentiality
)


class KerberosLogin:
    """Logs in at metastores as one principal.

    The library keeps the tickets in a file that only this process's user can read, and gets new
    ones once half of their time is over.
    """

    def __init__(self, principal: str, keytab: Path, service_at: Callable[[str], str]) -> None:
        """`service_at` gives the principal of the metastore on a host."""
        self.principal: Final = principal
        self._keytab = keytab
        self._service_at = service_at
        folder = mkdtemp(prefix="metatide-tickets-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._tickets = Path(folder, "tickets")
        # One thread, so that nothing else reads the file while it is replaced.
        self._thread = ThreadPoolExecutor(1, "kerberos")

    def exchange(self, host: str) -> "KerberosExchange":
        return KerberosExchange(self, self._service_at(host))

    def forget_tickets(self) -> None:
        """Has the next login get new tickets: a metastore that refuses one may have new keys."""
        self._thread.submit(self._tickets.unlink, missing_ok=True)

    async def begin(self, service: str) -> tuple[Any, bytes]:
        """A session with a service, and its first message. Raises UpstreamError."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._begin, service)

    def _begin(self, service: str) -> tuple[Any, bytes]:
        try:
            return self._session(service)
        except UpstreamError:
            if not self._tickets.exists():
                raise
        # The library keeps to itself why it can't renew a ticket; without one it says why.
        self._tickets.unlink()
        return self._session(service)

    def _session(self, service: str) -> tuple[Any, bytes]:
        kerberos = gssapi.MechType.kerberos
        store = {"client_keytab": str(self._keytab), "ccache": f"FILE:{self._tickets}"}
        try:
            name = gssapi.Name(self.principal, gssapi.NameType.kerberos_principal)
            credentials = gssapi.Credentials(
                name=name, usage="initiate", store=store, mechs=(kerberos,)
            )
        except GSSError as error:
            raise UpstreamError(
                f"upstream.kerberos_keytab {self._keytab} gets no ticket for {self.principal}: "
                f"{reason_of(error)}"
            ) from None
        try:
            session = gssapi.SecurityContext(
                name=gssapi.Name(service, gssapi.NameType.kerberos_principal),
                creds=credentials,
                usage="initiate",
                mech=kerberos,
                flags=_FLAGS,
            )
            # Errors are raised where they occur; the library would have the server tell of them.
            session.__DEFER_STEP_ERRORS__ = False
            return session, session.step() or b""
        except GSSError as error:
            raise UpstreamError(
                f"{self.principal} gets no ticket for {service} (upstream.kerberos_principal): "
                f"{reason_of(error)}"
            ) from None


class KerberosExchange:
    """Shows the ticket, then chooses the strongest protection that is offered."""

    mechanism: Final = NAME

    def __init__(self, login: KerberosLogin, service: str) -> None:
        self._login = login
        self._service = service
        self._session: Any = None
        self._layer: Layer | None = None

    async def answer(self, challenge: bytes) -> Response:
        if self._session is None:
            self._session, token = await self._login.begin(self._service)
            return Response(token)
        try:
            if not self._session.complete:
                return Response(self._session.step(challenge) or b"")
            return self._choose(self._session.unwrap(challenge).message)
        except GSSError as error:
            raise UpstreamError(f"Kerberos: {reason_of(error)}") from None

    def finish(self, _: bytes) -> Layer:
        if self._layer is None:
            raise UpstreamError("it ended a login by Kerberos before its end")
        return self._layer

    def _choose(self, offer: bytes) -> Response:
        offered = [protection for protection in Protection if offer[:1] and offer[0] & protection]
        if len(offer) != _OFFER_BYTES or not offered:
            raise UpstreamError("its offer of protections can't be read")
        choice = max(offered)
        if choice is Protection.AUTHENTICATION:
            self._layer, size = Frames(), 0
        else:
            # Metastores put a whole reply into one frame, however long.
            sent_bytes_max, size = int.from_bytes(offer[1:]), SENT_BYTES_MAX
            if sent_bytes_max <= OVERHEAD_BYTES_MAX:
                raise UpstreamError(f"it takes frames of {sent_bytes_max} bytes only")
            self._layer = ProtectedFrames(
                self._session,
                encrypts=choice is Protection.PRIVACY,
                sent_bytes_max=sent_bytes_max,
                received_bytes_max=FRAME_BYTES_MAX,
            )
        reply = bytes((choice,)) + size.to_bytes(_OFFER_BYTES - 1)
        return Response(self._session.wrap(reply, False).message, is_last=True)
