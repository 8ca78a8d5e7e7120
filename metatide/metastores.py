"""The metastores, and how to talk to them, from the configuration."""

import asyncio
import importlib.util
import socket
import ssl
from typing import Final, NamedTuple

from hive.errors import InputError, MachineError, ThriftError
from hive.listener import AFTERWARDS, LISTENER, TRANSACTIONAL
from metatide.certificates import trusted
from metatide.config import Config
from metatide.config.upstream import Upstream
from query_api.thrift.metastore.login.jwt_file import JwtFile
from query_api.thrift.metastore.login.password import PasswordLogin
from query_api.thrift.metastore.settings import TIMEOUT_S, fetch_setting
from query_api.thrift.metastore.upstream import Login, Upstreams, UpstreamSettings
from state.topic.kerberos import lacks_gssapi

HTTP_IDLE_S: Final = 20
"""A metastore closes connections of HTTP after half a minute, which a call could run into."""


class ListenerFault(NamedTuple):
    """What is wrong with the listener that writes a metastore's log, and the remedy."""

    detail: str
    remedy: str


def upstream_settings(upstream: Upstream, advertised_host: str | None) -> UpstreamSettings:
    """Where the metastores are, and how to talk to them."""
    return UpstreamSettings(
        () if upstream.url is None else upstream.url.addresses,
        framed=upstream.framed,
        http_path=None if upstream.http_path is None else f"/{upstream.http_path.strip('/')}",
        tls=_tls(upstream),
        login=_login(upstream, advertised_host),
        authorization=None if upstream.jwt_file is None else JwtFile(upstream.jwt_file).header,
        impersonates=upstream.impersonates,
        connections_per_user_max=upstream.connections_per_user_max,
        idle_s=upstream.idle_s if upstream.http_path is None else min(upstream.idle_s, HTTP_IDLE_S),
    )


def read_setting(settings: UpstreamSettings, name: str) -> str:
    """The value of a setting of the metastore; empty if it isn't set. Raises MachineError."""

    async def ask() -> str:
        link = await Upstreams(settings).open()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await fetch_setting(link, name)
        except TimeoutError:
            raise MachineError(f"the metastore doesn't tell {name} in time") from None
        finally:
            link.close()

    try:
        return asyncio.run(ask())
    except ThriftError as error:
        raise MachineError(f"the metastore's reply can't be read: {error}") from error


def listener_fault(settings: UpstreamSettings) -> ListenerFault | None:
    """What is wrong with the listener that writes the metastore's log. Raises MachineError."""
    listeners = read_setting(settings, TRANSACTIONAL)
    if listeners.rpartition(",")[2].strip() != LISTENER:
        return ListenerFault(
            f"{TRANSACTIONAL} is {listeners!r}",
            f"end it with {LISTENER} and restart the metastores",
        )
    if LISTENER in read_setting(settings, AFTERWARDS):
        return ListenerFault(
            f"{AFTERWARDS} names the listener too, so that events are written twice",
            f"take {LISTENER} out of it and restart the metastores",
        )
    return None


def require_proof(config: Config) -> None:
    """Raises InputError if clients could have the worker act for anybody."""
    if not config.upstream.impersonates:
        return
    if config.upstream.jwt_file is not None and config.thrift.jwt_keys is None:
        raise InputError(
            "upstream.impersonate has metastores shown clients' own tokens: have clients log in by "
            "them (thrift.jwt_keys), or set it to false"
        )
    if not config.thrift.needs_login:
        raise InputError(
            "upstream.impersonate has metastores believe who clients are: have them log in "
            "(thrift.kerberos_principal, thrift.ldap_url, thrift.jwt_keys), or set it to false"
        )


def require_gssapi(name: str) -> None:
    """Raises InputError if the library is missing that a key needs."""
    if importlib.util.find_spec("gssapi") is None:
        raise lacks_gssapi(name)


def _login(upstream: Upstream, advertised_host: str | None) -> Login | None:
    if upstream.user is not None:
        assert upstream.password_file is not None
        return PasswordLogin(upstream.user, upstream.password_file)
    if upstream.kerberos_principal is None:
        return None
    require_gssapi("upstream.kerberos_principal")
    from query_api.thrift.metastore.login.kerberos import KerberosLogin

    assert upstream.kerberos_login is not None
    assert upstream.kerberos_keytab is not None
    own = upstream.kerberos_login.at(advertised_host or socket.getfqdn())
    return KerberosLogin(own, upstream.kerberos_keytab, upstream.kerberos_principal.at)


def _tls(upstream: Upstream) -> ssl.SSLContext | None:
    if not upstream.tls:
        return None
    return trusted(upstream.tls_ca, "upstream.tls_ca")
