"""How clients of a worker's Thrift server prove who they are, from the configuration."""

import importlib.util
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

import structlog

from hive.errors import InputError
from metatide.certificates import trusted
from metatide.config.thrift import Thrift
from metatide.config.values import KeysLocation
from metatide.metastores import require_gssapi
from query_api.own_hosts import OwnHosts
from query_api.thrift.http_transport import basic
from query_api.thrift.http_transport.scheme import Scheme
from query_api.thrift.http_transport.settings import HttpSettings
from query_api.thrift.metastore.upstream import Upstreams, UpstreamSettings
from query_api.thrift.sasl import digest, ldap, plain, tokens
from query_api.thrift.sasl.mechanism import Mechanism
from query_api.thrift.sasl.password_function import PasswordFunction
from query_api.thrift.sasl.relayed_tokens import RelayedTokens

log = structlog.get_logger(__name__)


def mechanisms(
    thrift: Thrift,
    advertised_host: str | None,
    token_store: tokens.Store,
    metastores: UpstreamSettings | None = None,
) -> Mapping[str, Mechanism]:
    """The mechanisms of SASL by their names; none if clients needn't prove anything."""
    if thrift.delegation_tokens and thrift.kerberos_protection != "authentication":
        raise InputError(
            "thrift.delegation_tokens excludes thrift.kerberos_protection: only TLS protects what "
            "follows a login by token"
        )
    offered: dict[str, Mechanism] = {}
    if thrift.ldap_url is not None:
        offered[plain.NAME] = plain.Plain(directories(thrift))
    elif thrift.password_check is not None:
        offered[plain.NAME] = plain.Plain(PasswordFunction(thrift.password_check))
    if thrift.kerberos_principal is not None:
        offered["GSSAPI"] = _kerberos(thrift, advertised_host or socket.getfqdn())
        if thrift.delegation_tokens:
            realm = thrift.kerberos_principal.rpartition("@")[2]
            if thrift.delegation_token_check == "database":
                offered[digest.NAME] = tokens.DelegationTokens(token_store, realm)
            else:
                upstreams = Upstreams(metastores or UpstreamSettings())
                offered[digest.NAME] = RelayedTokens(upstreams.open_unproved, realm)
    return offered


def http_settings(
    thrift: Thrift, logins: Mapping[str, Mechanism], names: Iterable[str] = ()
) -> HttpSettings:
    """Where clients of HTTP post their calls, and how they prove who they are: as by SASL. `names`
    are the server's own, by which clients ask that needn't prove it.
    """
    schemes: dict[str, Scheme] = {}
    plain_login = logins.get(plain.NAME)
    if isinstance(plain_login, plain.Plain):
        schemes[basic.NAME] = basic.Basic(plain_login.passwords)
    if thrift.jwt_keys is not None:
        schemes["bearer"] = _bearer(thrift, thrift.jwt_keys)
    if thrift.http_port is not None and thrift.kerberos_principal is not None:
        try:
            schemes["negotiate"] = _negotiate(logins["GSSAPI"])
        except InputError as error:
            if not schemes:
                raise
            log.warning("clients of thrift.http_port can't log in by tickets", why=str(error))
    return HttpSettings("/" + thrift.http_path.strip("/"), schemes, OwnHosts(names))


def directories(thrift: Thrift) -> ldap.Directories:
    """The directories that check passwords."""
    assert thrift.ldap_url is not None
    assert thrift.ldap_user_dn is not None
    certificates = trusted(thrift.ldap_ca, "thrift.ldap_ca")
    return ldap.Directories(thrift.ldap_url.addresses, thrift.ldap_user_dn, certificates)


def require_jwt() -> None:
    """Raises InputError if the library for tokens of an issuer is missing."""
    if importlib.util.find_spec("jwt") is None or importlib.util.find_spec("cryptography") is None:
        raise InputError("thrift.jwt_keys needs the extra jwt: pip install 'metatide[jwt]'")


def _bearer(thrift: Thrift, location: KeysLocation) -> Scheme:
    require_jwt()
    from query_api.thrift.http_transport.bearer import Bearer
    from query_api.thrift.http_transport.key_set import KeyFile, KeyUrl

    return Bearer(
        KeyUrl(location, trusted(thrift.jwt_ca, "thrift.jwt_ca"))
        if location.is_url
        else KeyFile(Path(location)),
        issuer=thrift.jwt_issuer,
        audience=thrift.jwt_audience,
    )


def _negotiate(login: Mechanism) -> Scheme:
    from query_api.thrift.http_transport.negotiate import SERVICE, Negotiate
    from query_api.thrift.sasl.kerberos import Kerberos

    assert isinstance(login, Kerberos)
    host = login.principal.partition("/")[2]
    return Negotiate(f"{SERVICE}/{host}", login.keytab)


def _kerberos(thrift: Thrift, host: str) -> Mechanism:
    require_gssapi("thrift.kerberos_principal")
    from query_api.thrift.sasl.kerberos import Kerberos, Protection

    assert thrift.kerberos_principal is not None
    assert thrift.kerberos_keytab is not None
    return Kerberos(
        thrift.kerberos_principal.at(host),
        thrift.kerberos_keytab,
        least=Protection[thrift.kerberos_protection.upper()],
        message_bytes_max=thrift.message_bytes_max,
    )
