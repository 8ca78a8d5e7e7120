"""The library for Kerberos, which the environment doesn't have, and clients that show tickets."""

import asyncio
import re
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest

from tests.support.locked_packages import package_folder
from tests.support.logins.kdc import HOST, REALM, Kdc
from tests.support.programs import system_program
from tests.support.worker_log import WorkerLog

_BRIEF: Final = "brief"
_BRIEF_S: Final = 10


def load_gssapi() -> Any:
    """The package, compiled into the cache once."""
    folder = str(package_folder("gssapi", 1))
    if folder not in sys.path:
        sys.path.append(folder)
    import gssapi

    return gssapi


def session_with(
    keytab: Path,
    principal: str,
    service: str = "hive",
    mechanism: str | None = None,
    tickets: Path | None = None,
) -> Any:
    """The session of a client with a ticket for a service, by the mechanism with this OID; a fresh
    one unless the file of tickets has one.
    """
    gssapi = load_gssapi()
    name = gssapi.Name(principal, gssapi.NameType.kerberos_principal)
    # The library keeps what is in memory for as long as the process runs, by this name; a file of a
    # later realm can have the number of one that was deleted.
    store = {"ccache": f"MEMORY:{uuid4()}" if tickets is None else f"FILE:{tickets}"}
    # With a keytab, the library gets new tickets when half of their time is over.
    if tickets is None or not tickets.exists():
        store["client_keytab"] = str(keytab)
    return gssapi.SecurityContext(
        name=gssapi.Name(f"{service}@{HOST}", gssapi.NameType.hostbased_service),
        creds=gssapi.Credentials(name=name, usage="initiate", store=store),
        usage="initiate",
        mech=None if mechanism is None else gssapi.OID.from_int_seq(mechanism),
        flags=gssapi.RequirementFlag.mutual_authentication
        | gssapi.RequirementFlag.integrity
        | gssapi.RequirementFlag.confidentiality,
    )


@contextmanager
def clients_of(realm: Kdc) -> Iterator[None]:
    """Lets this process get tickets of the realm."""
    load_gssapi()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KRB5_CONFIG", str(realm.config))
        yield


class BriefTickets:
    """A user of a realm whose tickets end soon, for services who take clocks by the second."""

    def __init__(self, realm: Kdc, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KRB5_CONFIG", str(realm.write_config(folder / "krb5.conf", skew_s=1)))
        self._keytab: Final = realm.keytab(_BRIEF)
        self._tickets: Final = folder / "tickets"
        realm.limit_tickets(_BRIEF, _BRIEF_S)

    def session(self, service: str = "hive", mechanism: str | None = None) -> Any:
        """One with the user's ticket, which is the same for each service."""
        principal = f"{_BRIEF}@{REALM}"
        return session_with(self._keytab, principal, service, mechanism, self._tickets)

    async def outlive(self) -> None:
        """Waits for the end of the tickets, and has the user go on showing them: the file says that
        they last for another hour, the tickets themselves, which only services can read, still tell
        the truth.
        """
        await asyncio.sleep(_BRIEF_S + 3)
        content, now = bytearray(self._tickets.read_bytes()), int(time.time())
        for at in range(len(content) - 16):
            issued, begins, ends, _ = struct.unpack_from("!4I", content, at)
            if now - 600 < issued <= begins <= now and begins < ends <= begins + _BRIEF_S:
                struct.pack_into("!I", content, at + 8, now + 3600)
        self._tickets.write_bytes(content)


def keep_tickets_out(log: WorkerLog, monkeypatch: pytest.MonkeyPatch, *keytabs: Path) -> None:
    """Neither keys of these keytabs nor what shows a ticket from now on may be logged."""
    for keytab in keytabs:
        command = (system_program("klist"), "-K", "-k", str(keytab))
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        log.keep_out(*map(bytes.fromhex, re.findall(r"\(0x(\w+)\)", listed)))
    context = load_gssapi().SecurityContext
    step = context.step

    def remembered(*arguments: Any, **more: Any) -> Any:
        token = step(*arguments, **more)
        if token:
            log.keep_out(token)
        return token

    monkeypatch.setattr(context, "step", remembered)
