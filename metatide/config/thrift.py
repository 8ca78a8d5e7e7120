"""The keys of a worker's Thrift server."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from hive.errors import InputError
from hive.units import MIB
from metatide.config.section import Section, key, require_together
from metatide.config.values import (
    ClassPath,
    FunctionName,
    GuardedPatterns,
    KeysLocation,
    LdapUrls,
    Principal,
    UserDn,
)


class Thrift(Section, frozen=True):
    """The Thrift server of a worker, with the metastore's interface."""

    host: Annotated[str, key("The address to listen on; `0.0.0.0` stands for all addresses.")] = (
        "127.0.0.1"
    )
    port: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=65535)] | None,
        key(
            "The port to listen on; 0 takes a free one. Without it a worker has no Thrift server, "
            "and `metatide up` takes a free one where it knows a metastore.",
            option="--thrift-port",
        ),
    ] = None
    http_port: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=65535)] | None,
        key(
            "A second port, for clients that speak Thrift over HTTP "
            "(`hive.metastore.client.thrift.transport.mode=http`); 0 takes a free one. Workers ask "
            "each other by `thrift.port`, so that is needed, too."
        ),
    ] = None
    http_path: Annotated[
        str,
        key(
            "The path to which clients of `thrift.http_port` post their calls: "
            "`hive.metastore.server.thrift.http.path` at the clients."
        ),
    ] = "metastore"
    relay_reads: Annotated[
        bool,
        key(
            "Lets the metastore answer all reads: for those who need its authorization hooks, "
            "which the cache doesn't ask. Reads over HTTP are then for administrators alone."
        ),
    ] = False
    relay_reads_of: Annotated[
        GuardedPatterns | None,
        key(
            "Lets the metastore answer reads of these alone: tables by `DB.TABLE`, databases with "
            "all that is in them by `DB`, methods by `NAME()`, each with Hive's `*`, with commas "
            "in between. Reads over HTTP are then for administrators alone."
        ),
    ] = None
    authorization: Annotated[
        Literal["none", "lists", "metastore"],
        key(
            "Who decides what a user is answered from the cache: `lists` in a file "
            "(`thrift.authorization_lists`), or the `metastore`, by one read for each user and "
            "table or database. The metastore answers the rest. Reads over HTTP are then for "
            "administrators alone."
        ),
    ] = "none"
    authorization_lists: Annotated[
        Path | None,
        key(
            "The file for `thrift.authorization=lists`: lines of a user (`*` for all) and patterns "
            "of what that user may see, as in `thrift.relay_reads_of` without methods. It is read "
            "again when it changes."
        ),
    ] = None
    authorization_s: Annotated[
        int,
        key(
            "How long the word of a metastore counts under `thrift.authorization=metastore`, "
            "unless an event ends it before.",
            ge=1,
        ),
    ] = 30
    shadow: Annotated[
        bool,
        key(
            "Lets the metastore answer all reads, and compares that with what the cache would "
            "have said."
        ),
    ] = False
    hive_classpath: Annotated[
        ClassPath | None,
        key(
            "The class path of Hive's jars, as `/opt/hive/lib/*:/opt/hadoop/client/*`: with them a "
            "Java process beside the worker reads the expressions that Hive sends serialized. "
            "Without it, the metastore answers those calls."
        ),
    ] = None
    hive_java: Annotated[
        Path | None,
        key(
            "The `java` that runs the jars of `thrift.hive_classpath`; by default that of "
            "JAVA_HOME, else of the PATH."
        ),
    ] = None
    slow_ms: Annotated[int, key("Log calls that take longer; 0: none.", ge=0)] = 1000
    connections_max: Annotated[int, key("The maximum number of connected clients.", ge=1)] = 10_000
    message_mib_max: Annotated[
        int, key("The maximum size of a call; the metastore's own limit is 100.", ge=1, le=2047)
    ] = 100
    tls_certificate: Annotated[Path | None, key("The certificate chain for TLS with clients.")] = (
        None
    )
    tls_key: Annotated[Path | None, key("The key of `thrift.tls_certificate`.")] = None
    ldap_url: Annotated[
        LdapUrls | None,
        key(
            "A directory that checks the passwords of clients, which then must send them by SASL's "
            "`PLAIN`: `ldaps://HOST:PORT`, or several with commas in between, which are tried in "
            "order."
        ),
    ] = None
    ldap_user_dn: Annotated[
        UserDn | None,
        key(
            "The name by which a user binds at `thrift.ldap_url`: "
            "`uid={user},ou=people,dc=example,dc=com`, or `{user}@example.com` for Active "
            "Directory."
        ),
    ] = None
    ldap_ca: Annotated[
        Path | None, key("The CA certificates for the directory; by default the system's.")
    ] = None
    password_check: Annotated[
        FunctionName | None,
        key(
            "A function of yours that checks the passwords of clients in place of a directory: "
            "`package.module:function`, which takes a name and a password and returns True or "
            "False."
        ),
    ] = None
    jwt_keys: Annotated[
        KeysLocation | None,
        key(
            "The keys by which an issuer signs tokens (JWT), with which clients of "
            "`thrift.http_port` then log in: a JSON Web Key Set at an `https://` URL or in a file."
        ),
    ] = None
    jwt_issuer: Annotated[
        str | None,
        key("The issuer that tokens must name (`iss`); without this key, it isn't checked."),
    ] = None
    jwt_audience: Annotated[
        str | None,
        key(
            "Whom tokens must be for (`aud`); without this key, those for other services count, "
            "too."
        ),
    ] = None
    jwt_ca: Annotated[
        Path | None,
        key("The CA certificates for the URL in `thrift.jwt_keys`; by default the system's."),
    ] = None
    kerberos_principal: Annotated[
        Principal | None,
        key(
            "The worker's service in Kerberos, `hive/_HOST@EXAMPLE.COM`: with it clients log in "
            "by their tickets (SASL's `GSSAPI`). `_HOST` stands for `worker.advertised_host`, "
            "else for the machine's full name."
        ),
    ] = None
    kerberos_keytab: Annotated[
        Path | None,
        key(
            "The keytab with the keys of `thrift.kerberos_principal`, and for `thrift.http_port` "
            "with those of `HTTP` on the same host; new keys in it are used at once."
        ),
    ] = None
    delegation_tokens: Annotated[
        bool,
        key(
            "Whether clients may log in by delegation tokens of the metastores, too (SASL's "
            "`DIGEST-MD5`)."
        ),
    ] = False
    delegation_token_check: Annotated[
        Literal["database", "metastore"],
        key(
            "Who checks delegation tokens: `database` has the worker read the table "
            "DELEGATION_TOKENS, where metastores with `DBTokenStore` keep them; `metastore` has a "
            "metastore check each, wherever it keeps them."
        ),
    ] = "database"
    kerberos_protection: Annotated[
        Literal["authentication", "integrity", "privacy"],
        key(
            "The least that clients who log in by tickets must choose, in the words of "
            "`hadoop.rpc.protection`: `integrity` signs all that follows, `privacy` encrypts it."
        ),
    ] = "authentication"

    def __post_init__(self) -> None:
        """Raises InputError if keys exclude or lack each other."""
        if self.http_port is not None and self.port is None:
            raise InputError(
                "thrift.http_port needs thrift.port, by which workers ask each other: set both"
            )
        require_together(self, "ldap_url", "ldap_user_dn")
        require_together(self, "kerberos_principal", "kerberos_keytab")
        if self.delegation_tokens and self.kerberos_principal is None:
            raise InputError(
                "thrift.delegation_tokens has no use without thrift.kerberos_principal"
            )
        self._check_passwords()
        if self.kerberos_principal and self.http_port is not None and not self.tls_certificate:
            raise InputError(
                "clients of thrift.http_port send tickets that whoever reads them could use: set "
                "thrift.tls_certificate and thrift.tls_key"
            )
        self._check_tokens()
        self._check_authorization()

    @property
    def message_bytes_max(self) -> int:
        return self.message_mib_max * MIB

    @property
    def guards_reads(self) -> bool:
        """Whether not everybody may be answered everything from the cache."""
        guards = self.relay_reads, self.relay_reads_of is not None, self.authorization != "none"
        return any(guards)

    def _check_authorization(self) -> None:
        if (self.authorization == "lists") != (self.authorization_lists is not None):
            raise InputError(
                "set both thrift.authorization=lists and thrift.authorization_lists, or neither"
            )
        if self.authorization == "lists" and not self.needs_login:
            raise InputError(
                "thrift.authorization=lists believes who clients are: have them log in "
                "(thrift.kerberos_principal, thrift.ldap_url, thrift.jwt_keys)"
            )

    def _check_passwords(self) -> None:
        if self.ldap_url is not None and self.password_check is not None:
            raise InputError("set one of thrift.ldap_url and thrift.password_check, not both")
        name = "thrift.ldap_url" if self.password_check is None else "thrift.password_check"
        if self.checks_passwords and self.tls_certificate is None:
            raise InputError(
                f"{name} has clients send passwords: set thrift.tls_certificate and "
                "thrift.tls_key, so that nobody else reads them"
            )

    def _check_tokens(self) -> None:
        if self.jwt_keys is None:
            if self.jwt_issuer is not None or self.jwt_audience is not None:
                raise InputError(
                    "thrift.jwt_issuer and thrift.jwt_audience have no use without thrift.jwt_keys"
                )
        elif self.http_port is None:
            raise InputError("thrift.jwt_keys is for clients over HTTP: set thrift.http_port")
        elif self.tls_certificate is None:
            raise InputError(
                "thrift.jwt_keys has clients send tokens: set thrift.tls_certificate and "
                "thrift.tls_key, so that nobody else reads them"
            )

    @property
    def needs_login(self) -> bool:
        """Whether clients must prove who they are."""
        logins = self.kerberos_principal, self.jwt_keys
        return self.checks_passwords or any(login is not None for login in logins)

    @property
    def checks_passwords(self) -> bool:
        """Whether clients may show a name and a password."""
        return self.ldap_url is not None or self.password_check is not None
