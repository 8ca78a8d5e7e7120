"""How clients of a worker's Thrift server prove who they are, from the configuration."""

import ssl
from collections.abc import Mapping
from pathlib import Path

from hive.errors import InputError
from metatide.config.thrift import Thrift
from query_api.thrift.sasl import ldap, plain
from query_api.thrift.sasl.mechanism import Mechanism


def mechanisms(thrift: Thrift) -> Mapping[str, Mechanism]:
    """The mechanisms of SASL by their names; none if clients needn't prove anything."""
    offered: dict[str, Mechanism] = {}
    if thrift.ldap_url is not None:
        assert thrift.ldap_user_dn is not None
        trusted = _trusted(thrift.ldap_ca)
        directories = ldap.Directories(thrift.ldap_url.addresses, thrift.ldap_user_dn, trusted)
        offered[plain.NAME] = plain.Plain(directories)
    return offered


def _trusted(ca: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise InputError(f"thrift.ldap_ca: {ca} can't be used: {error}") from error
