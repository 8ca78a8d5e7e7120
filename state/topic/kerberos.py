"""The process's own ticket of Kerberos, with which its libraries log in at brokers.

librdkafka and aiokafka leave tickets to GSSAPI, which takes them from where the environment of the
process says. librdkafka would also run `kinit` by a shell, which this makes needless.
"""

import atexit
import os
import shutil
import threading
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from hive.errors import InputError, NoKdcError, TopicError

_KEYTAB, _TICKETS = "KRB5_CLIENT_KTNAME", "KRB5CCNAME"
_KRB5: Final = 2**32 - 1765328384
_NO_KDC: Final = {_KRB5 + 29, _KRB5 + 154, _KRB5 + 156}
"""MIT Kerberos's codes for centres that are out of service, have no address, or don't answer."""
_in_turn: Final = threading.Lock()
_held: Final = set[tuple[str, str]]()
"""The principals with their keytabs for which this process has tickets."""


def lacks_gssapi(name: str) -> InputError:
    """The error where the library is missing that a key needs."""
    return InputError(
        f"{name} needs the extra kerberos: pip install 'metatide[kerberos]', with a C compiler "
        "and the headers of MIT Kerberos (Debian: libkrb5-dev)"
    )


def hold_ticket(principal: str, keytab: str) -> None:
    """Gets a ticket unless one is held. GSSAPI renews it by the keytab, once half of its time is
    over. Raises TopicError, which is NoKdcError if another attempt may get one.
    """
    try:
        import gssapi
        from gssapi.exceptions import GSSError
    except ImportError:
        raise lacks_gssapi("kafka.sasl_mechanism GSSAPI") from None
    with _in_turn:
        if (principal, keytab) in _held:
            return
        folder = mkdtemp(prefix="metatide-kafka-")
        tickets = f"FILE:{Path(folder, 'tickets')}"
        try:
            name = gssapi.Name(principal, gssapi.NameType.kerberos_principal)
            store = {"client_keytab": f"FILE:{keytab}", "ccache": tickets}
            gssapi.Credentials(name=name, usage="initiate", store=store)
        except GSSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            why = "; ".join(error.get_all_statuses(error.min_code, False))
            kind = NoKdcError if error.min_code in _NO_KDC else TopicError
            raise kind(
                f"kafka.sasl_kerberos_keytab {keytab} gets no ticket for {principal}: {why}"
            ) from None
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ.update({_KEYTAB: f"FILE:{keytab}", _TICKETS: tickets})
        _held.add((principal, keytab))
