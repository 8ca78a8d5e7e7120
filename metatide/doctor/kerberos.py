"""Checks of keytabs and tickets: of the worker's service, and of the worker at metastores."""

import asyncio
import os
import socket
from pathlib import Path

from hive.errors import InputError, RefusedLoginError, UpstreamError
from metatide.doctor import upstream
from metatide.doctor.finding import Finding, failed, ok, unchecked
from metatide.doctor.target import Target
from metatide.metastores import require_gssapi
from query_api.thrift.metastore.login.negotiation import Exchange

_UNKNOWN = "not found in Kerberos database"
_OF_SKEW = "set the clock of this machine, or of the key distribution centre, as NTP does"
_OF_KEYS = "have the realm write a new keytab: this one has other keys than the realm"
_REMEDIES = {
    "skew too great": _OF_SKEW,
    # A ticket that was made this moment is, where clocks differ by more than its life.
    "Ticket not yet valid": _OF_SKEW,
    "Ticket expired": _OF_SKEW,
    "Cannot contact any KDC": (
        "start the key distribution centre, or correct what krb5.conf says of the realm"
    ),
    "Cannot find KDC": "name the realm's key distribution centre in krb5.conf (KRB5_CONFIG)",
    _UNKNOWN: "add the principal to the realm, or correct its name",
    "Preauthentication failed": _OF_KEYS,
    "integrity check failed": _OF_KEYS,
    "expired": "renew the principal's account or keys in the realm",
}
_GENERAL = "see what klist -k and kinit -k -t say of the keytab here"


def of_clients(target: Target) -> Finding:
    """Checks that the worker's keytab has the keys by which the realm makes tickets for it."""
    thrift = target.thrift
    if thrift.kerberos_principal is None:
        return ok("off: thrift.kerberos_principal isn't set")
    assert thrift.kerberos_keytab is not None
    require_gssapi("thrift.kerberos_principal")
    from query_api.thrift.sasl.kerberos import credentials_of, try_keys

    principal = thrift.kerberos_principal.at(target.advertised_host or socket.getfqdn())
    keytab = thrift.kerberos_keytab
    finding = _unusable("thrift.kerberos_keytab", keytab)
    if finding is not None:
        return finding
    try:
        try_keys(principal, keytab)
        if thrift.http_port is not None:
            credentials_of(f"HTTP/{principal.partition('/')[2]}", keytab)
    except RefusedLoginError as error:
        why = f"{keytab} has keys of {principal}, and gets no ticket by them: {error}"
        if _UNKNOWN in str(error):
            # Active Directory lets nobody log in by the name of a service.
            return unchecked(why, _remedy(why, "try a client's login where it isn't meant to"))
        return failed(why, _remedy(why))
    except InputError as error:
        return failed(
            str(error),
            f"add its keys (klist -k {keytab} shows whose there are); for _HOST set "
            "worker.advertised_host to the name by which clients connect",
        )
    return ok(f"{keytab} has the realm's keys of {principal}")


def at_metastore(target: Target) -> Finding:
    """Checks that the worker gets a ticket for the metastore."""
    if target.upstream is None or target.upstream.kerberos_principal is None:
        return ok("off: upstream.kerberos_principal isn't set")
    assert target.upstream.kerberos_keytab is not None
    finding = _unusable("upstream.kerberos_keytab", target.upstream.kerberos_keytab)
    if finding is not None:
        return finding
    settings = upstream.settings_of(target)
    login = settings.login
    assert login is not None
    host = settings.addresses[0][0]
    try:
        asyncio.run(_begin(login.exchange(host)))
    except UpstreamError as error:
        return failed(str(error), _remedy(str(error)))
    return ok(f"{login.principal} gets tickets for {target.upstream.kerberos_principal.at(host)}")


async def _begin(exchange: Exchange) -> None:
    await exchange.answer(b"")


def _unusable(name: str, keytab: Path) -> Finding | None:
    """What is wrong with the file itself."""
    if not os.access(keytab, os.R_OK, effective_ids=True):
        return failed(
            f"{name} {keytab} isn't there, or this user can't read it",
            "put the keytab there, for the user who runs the worker and nobody else",
        )
    return None


def _remedy(why: str, more: str = "") -> str:
    remedy = next((text for part, text in _REMEDIES.items() if part in why), _GENERAL)
    return f"{remedy}; {more}" if more else remedy
