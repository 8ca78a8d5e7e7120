"""Checks of what clients' logins at the Thrift server need beside Kerberos."""

import asyncio
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from hive.errors import RefusedLoginError
from hive.reader.driver_errors import driver_reason
from hive.reader.tokens import stored_token
from hive.schema import detect_followed
from metatide.certificates import trusted
from metatide.config.values import KeysLocation
from metatide.doctor import upstream
from metatide.doctor.database import snapshot
from metatide.doctor.finding import Finding, failed, ok, unchecked
from metatide.doctor.target import Target
from metatide.worker.logins import directories, require_jwt
from query_api.thrift.metastore.link import host_port
from query_api.thrift.metastore.upstream import Upstreams
from query_api.thrift.sasl.password_function import load_function
from query_api.thrift.sasl.relayed_tokens import RelayedTokens

_NO_TOKEN = ("none",)


def by_password(target: Target) -> Finding:
    """Tries each directory, or loads the function."""
    if target.thrift.password_check is not None:
        load_function(target.thrift.password_check)
        return ok(f"{target.thrift.password_check} can be called; passwords can't be tried here")
    if target.thrift.ldap_url is None:
        return ok("off: thrift.ldap_url isn't set, nor thrift.password_check")
    faults = asyncio.run(directories(target.thrift).faults())
    addresses = target.thrift.ldap_url.addresses
    if faults:
        texts = [f"{host_port(address)} doesn't answer: {why}" for address, why in faults.items()]
        is_of_tls = any("CERTIFICATE" in why or "SSL" in why for why in faults.values())
        return failed(
            "; ".join(texts),
            "set thrift.ldap_ca to the certificates that sign the directory's, and name it in "
            "thrift.ldap_url as its certificate does"
            if is_of_tls
            else "start it, or correct thrift.ldap_url",
        )
    return ok(f"{', '.join(map(host_port, addresses))}, by TLS; passwords can't be tried here")


def by_jwt(target: Target) -> Finding:
    """Reads the issuer's keys."""
    location = target.thrift.jwt_keys
    if location is None:
        return ok("off: thrift.jwt_keys isn't set")
    require_jwt()
    try:
        count = len(asyncio.run(_key_ids(target, location)))
    except (OSError, ValueError) as error:
        return failed(
            f"no keys can be read at {location.masked}: {error}",
            "correct thrift.jwt_keys (or thrift.jwt_ca), or have the issuer publish public keys "
            "for signatures there",
        )
    finding = f"{count} key{'s' if count > 1 else ''} at {location.masked}"
    if target.thrift.jwt_audience is None:
        return unchecked(
            f"{finding}; tokens for other services count here, too", "set thrift.jwt_audience"
        )
    return ok(finding)


async def _key_ids(target: Target, location: KeysLocation) -> list[str]:
    from query_api.thrift.http_transport.key_set import fetch_keys, read_keys

    if location.is_url:
        keys = await fetch_keys(location, trusted(target.thrift.jwt_ca, "thrift.jwt_ca"))
    else:
        keys = read_keys(Path(location).read_bytes())
    return list(keys)


def by_delegation_token(target: Target) -> Finding:
    """Tries what checks the tokens."""
    thrift = target.thrift
    if not thrift.delegation_tokens:
        return ok("off: thrift.delegation_tokens isn't set")
    if thrift.delegation_token_check == "database":
        return _in_database(target)
    if target.upstream is None or thrift.kerberos_principal is None:
        return failed("no metastore is named that could check them", "set upstream.url")
    upstreams = Upstreams(upstream.settings_of(target))
    tokens = RelayedTokens(upstreams.open_unproved, thrift.kerberos_principal.rpartition("@")[2])
    try:
        asyncio.run(_begin(tokens))
    except RefusedLoginError as error:
        return failed(
            f"the metastore offers no check of tokens: {error.details}",
            "start it, and let it offer logins by SASL (hive.metastore.sasl.enabled=true)",
        )
    return ok(f"{host_port(upstreams.settings.addresses[0])} checks them")


async def _begin(tokens: RelayedTokens) -> None:
    await tokens.begin().answer(b"")


def _in_database(target: Target) -> Finding:
    if target.database_url is None:
        return failed("no database is named that has them", "give --database")
    try:
        with snapshot(target) as connection:
            version = detect_followed(connection)
            if version is None:
                return failed("this database has no metastore's tables", "correct database.url")
            connection.execute(stored_token(version, _NO_TOKEN))
    except DBAPIError as error:
        return failed(
            f"DELEGATION_TOKENS can't be read: {driver_reason(error)}",
            "grant the user of database.url SELECT on it, or set "
            "thrift.delegation_token_check=metastore",
        )
    return ok("the database's DELEGATION_TOKENS can be read, where DBTokenStore writes")
