"""Metastores with Kerberos, and who may log in there."""

import getpass
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec.structs import replace
from py4j.java_gateway import JavaGateway

from metatide.config import Config, load
from metatide.config.values import ThriftUrl
from metatide.metastores import upstream_settings
from metatide.worker.logins import mechanisms
from metatide.worker.thrift import thrift_settings
from query_api.thrift.java.gateway import OPTIONS
from tests.query_api.thrift.sasl.clients import no_token
from tests.support.hive.client import HiveClient, log_in_by_keytab
from tests.support.hive.java import hive_java
from tests.support.logins.kdc import HOST, REALM, SERVICE, Kdc, kdc
from tests.support.logins.tickets import clients_of
from tests.support.processes import open_folder

OWN: Final = f"metatide@{REALM}"
OWNER: Final = getpass.getuser()
"""The owner of what the metastores write, for they run as this user."""
USERS: Final = ("ann", "eve", "hs2", OWNER)
CORE: Final = {
    "hadoop.proxyuser.metatide.hosts": "*",
    "hadoop.proxyuser.metatide.users": f"ann,hs2,{OWNER}",
    "hadoop.proxyuser.hs2.hosts": "*",
    "hadoop.proxyuser.hs2.users": "ann",
}
"""Whom metastores let act for whom: nobody for eve."""
PROPERTIES: Final = {
    "metastore.sasl.enabled": "true",
    "metastore.kerberos.principal": f"hive/_HOST@{REALM}",
    "metastore.connect.retries": "1",
    "metastore.thrift.failure.retries": "0",
}


class Realm(NamedTuple):
    """A key distribution centre, and the keytabs of its principals."""

    kdc: Kdc
    service: Path
    own: Path
    users: Mapping[str, Path]

    def config(self, address: str, **more: str) -> Config:
        """That of a worker in front of a metastore."""
        environ = {
            "UPSTREAM_URL": address,
            "UPSTREAM_KERBEROS_PRINCIPAL": f"hive/_HOST@{REALM}",
            "UPSTREAM_KERBEROS_LOGIN": OWN,
            "UPSTREAM_KERBEROS_KEYTAB": str(self.own),
            "THRIFT_KERBEROS_PRINCIPAL": f"hive/_HOST@{REALM}",
            "THRIFT_KERBEROS_KEYTAB": str(self.service),
            **more,
        }
        return load(environ={f"METATIDE_{name}": text for name, text in environ.items()}).config

    def worker(self, address: str, store: Any = no_token, **more: str) -> Mapping[str, Any]:
        """The settings of a worker's server."""
        config = self.config(address, **more)
        upstream = upstream_settings(config.upstream, None)
        logins = mechanisms(config.thrift, HOST, store, upstream)
        settings = thrift_settings(config.thrift, None, logins)
        return {"upstream": upstream, "settings": replace(settings, slow_ms=1)}


class HiveUsers:
    """Hive's own clients, of one user after the other."""

    def __init__(self, java: JavaGateway, realm: Realm) -> None:
        self.java = java
        self._realm = realm

    def client(self, user: str, address: str) -> HiveClient:
        """A client of this user, who has logged in by a ticket."""
        log_in_by_keytab(self.java, f"{user}@{REALM}", self._realm.users[user], PROPERTIES)
        return HiveClient(self.java, address, PROPERTIES)

    def client_with_token(self, token: str, address: str) -> HiveClient:
        """A client that shows a delegation token."""
        jvm, name = self.java.jvm, "metatide"
        information = jvm.org.apache.hadoop.security.UserGroupInformation
        utilities = jvm.org.apache.hadoop.hive.metastore.utils.SecurityUtils
        utilities.setTokenStr(information.getCurrentUser(), token, name)
        properties = {**PROPERTIES, "metastore.token.signature": name}
        return HiveClient(self.java, address, properties)


@contextmanager
def realm() -> Iterator[Realm]:
    """A new realm; it ends with the block."""
    with open_folder() as folder, kdc(folder) as server, clients_of(server):
        users = {user: server.keytab(user) for user in USERS}
        yield Realm(server, server.keytab(SERVICE), server.keytab("metatide"), users)


@contextmanager
def hive_users(own_realm: Realm) -> Iterator[HiveUsers]:
    """A Java process for clients; it ends with the block."""
    options = (*OPTIONS, f"-Djava.security.krb5.conf={own_realm.kdc.config}")
    with hive_java(options, release="4.0.1") as java:
        yield HiveUsers(java, own_realm)


def address_of(url: str) -> tuple[str, int]:
    return ThriftUrl(url).address
