"""The keys of the metastores behind a worker."""

from pathlib import Path
from typing import Annotated

from hive.errors import InputError
from metatide.config.section import Section, key, require_together
from metatide.config.values import OwnPrincipal, Principal, ThriftUrls


class Upstream(Section, frozen=True):
    """The metastores that answer what the cache doesn't."""

    url: Annotated[
        ThriftUrls | None,
        key(
            "Metastores to relay to: `thrift://HOST:PORT`, or several with commas in between.",
            option="--upstream",
        ),
    ] = None
    framed: Annotated[bool, key("Whether the metastores use the framed transport.")] = False
    http_path: Annotated[
        str | None,
        key(
            "The path of metastores that speak Thrift over HTTP, `metastore` unless their "
            "`hive.metastore.client.thrift.http.path` says otherwise. Without it they are talked "
            "to in binary."
        ),
    ] = None
    tls: Annotated[bool, key("Whether to use TLS with the metastores.")] = False
    tls_ca: Annotated[
        Path | None, key("The CA certificates for the metastores; by default the system's.")
    ] = None
    kerberos_principal: Annotated[
        Principal | None,
        key(
            "The metastores' service in Kerberos, `hive/_HOST@EXAMPLE.COM`, as their "
            "`hive.metastore.kerberos.principal` says: with it the worker logs in by a ticket. "
            "`_HOST` stands for the host in `upstream.url`."
        ),
    ] = None
    kerberos_login: Annotated[
        OwnPrincipal | None,
        key(
            "The worker's own principal at the metastores, `cache@EXAMPLE.COM` or "
            "`cache/_HOST@EXAMPLE.COM`. `_HOST` stands for `worker.advertised_host`, else for "
            "the machine's full name."
        ),
    ] = None
    kerberos_keytab: Annotated[
        Path | None,
        key(
            "The keytab with the keys of `upstream.kerberos_login`. Tickets are renewed by it when "
            "half of their time is over; it is read again each time."
        ),
    ] = None
    user: Annotated[
        str | None,
        key(
            "The name by which the worker logs in at metastores that check passwords "
            "(`hive.metastore.authentication` `LDAP`, `CUSTOM`, `PAM` or `CONFIG`)."
        ),
    ] = None
    password_file: Annotated[
        Path | None, key("A file with the password of `upstream.user`, read for each login.")
    ] = None
    jwt_file: Annotated[
        Path | None,
        key(
            "A file with the worker's own token for metastores over HTTP that want a JWT "
            "(`hive.metastore.authentication` `JWT`). It is read again when it changes."
        ),
    ] = None
    impersonate: Annotated[
        bool,
        key(
            "Whether relayed calls run as the client's user. With `upstream.kerberos_principal` "
            "the metastores must allow that by `hadoop.proxyuser`; with `upstream.jwt_file` they "
            "are shown the client's own token. Otherwise all run as the worker's own user."
        ),
    ] = True
    connections_per_user_max: Annotated[
        int, key("The maximum number of connections to metastores for clients of one user.", ge=1)
    ] = 200
    idle_s: Annotated[
        int,
        key("How long a client's connection to a metastore stays open without a call.", ge=1),
    ] = 300

    def __post_init__(self) -> None:
        """Raises InputError if keys exclude or lack each other."""
        require_together(self, "kerberos_principal", "kerberos_login", "kerberos_keytab")
        require_together(self, "user", "password_file")
        if self.jwt_file is not None and self.http_path is None:
            raise InputError(
                "upstream.jwt_file is for metastores over HTTP: set upstream.http_path"
            )
        for name, file in (("password", self.password_file), ("jwt", self.jwt_file)):
            if file is not None and not self.tls:
                raise InputError(
                    f"upstream.{name}_file holds what whoever reads it on its way could use: set "
                    "upstream.tls"
                )
        ways = {
            "upstream.framed": self.framed,
            "upstream.http_path": self.http_path is not None,
            "upstream.kerberos_principal": self.kerberos_principal is not None,
            "upstream.user": self.user is not None,
        }
        chosen = [name for name, is_chosen in ways.items() if is_chosen]
        if len(chosen) > 1:
            raise InputError(f"{' and '.join(chosen)} exclude each other, as at a metastore")

    @property
    def impersonates(self) -> bool:
        can_do = self.kerberos_principal is not None or self.jwt_file is not None
        return can_do and self.impersonate
