"""Engines that log in before metastores that want logins, too: sessions of Hive as beeline's users
have them, and Spark.
"""

import getpass
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from metatide.stack import java_kerberos
from metatide.stack.machine import free_port
from tests.query_api.thrift.http_transport.issuer import Issuer
from tests.query_api.thrift.metastore.login.realm import CORE, OWN, realm
from tests.support import local_http
from tests.support.engines import spark_process
from tests.support.engines.spark_process import SELECTED, SPARK, VERSION, client_jars, query_results
from tests.support.hive.guarded_metastore import by_jwt, by_ldap, guarded_metastore
from tests.support.hive.secure_metastore import secure_metastore
from tests.support.hive.session import Login, hive_process
from tests.support.kafka.kerberized import keys_in
from tests.support.locked_packages import package_folder
from tests.support.logins.certificates import STORE_PASSWORD, Authority
from tests.support.logins.directory import USER_DN, directory
from tests.support.logins.kdc import HOST, REALM, SERVICE
from tests.support.processes import open_folder
from tests.support.secrets_in_logs import assert_untold, logs_in
from tests.support.stacks import Stack, stack

pytestmark = [
    pytest.mark.logins,
    pytest.mark.hive,
    pytest.mark.by_turns(3, of="large parts"),
    pytest.mark.timeout(1800),
]
NAME: Final = getpass.getuser()
"""Tez runs only for whoever owns its folders."""
USER: Final = f"{NAME}@{REALM}"
PASSWORD: Final = "wonder#land of tides"
OWN_PASSWORD: Final = "the tide's own secret"


class Behind(NamedTuple):
    """A metastore, and what a worker in front of it is told."""

    address: str
    database_url: str
    environment: Mapping[str, str]
    secrets: Sequence[str | bytes]
    """What no process may log."""
    realm: Path = Path()
    """What clients of Kerberos read."""
    keytab: Path = Path()
    token: str = ""


@contextmanager
def behind_tickets(folder: Path, url: str, _: Authority) -> Iterator[Behind]:
    """A metastore with Kerberos, at which calls run as the client's user."""
    with (
        realm() as own,
        secure_metastore(own.kdc, own.service, url, core=CORE) as address,
    ):
        environment = {
            "PYTHONPATH": str(package_folder("gssapi", 1)),
            "THRIFT_KERBEROS_PRINCIPAL": SERVICE,
            "THRIFT_KERBEROS_KEYTAB": str(own.service),
            "UPSTREAM_KERBEROS_PRINCIPAL": f"hive/_HOST@{REALM}",
            "UPSTREAM_KERBEROS_LOGIN": OWN,
            "UPSTREAM_KERBEROS_KEYTAB": str(own.own),
        }
        keytab = own.users[NAME]
        secrets = [key for path in (own.service, own.own, keytab) for key in keys_in(path)]
        yield Behind(address, url, environment, secrets, own.kdc.config, keytab)


@contextmanager
def behind_passwords(folder: Path, url: str, authority: Authority) -> Iterator[Behind]:
    """One whose directory, which is the worker's, too, checks passwords."""
    password = folder / "password"
    password.write_text(OWN_PASSWORD)
    passwords = {NAME: PASSWORD, "cache": OWN_PASSWORD}
    with (
        directory(folder / "users", authority, passwords) as users,
        guarded_metastore(url, authority, by_ldap(users)) as address,
    ):
        environment = {
            "THRIFT_LDAP_URL": users.address,
            "THRIFT_LDAP_USER_DN": USER_DN,
            "THRIFT_LDAP_CA": str(authority.certificate),
            "UPSTREAM_TLS": "true",
            "UPSTREAM_TLS_CA": str(authority.certificate),
            "UPSTREAM_USER": "cache",
            "UPSTREAM_PASSWORD_FILE": str(password),
        }
        yield Behind(address, url, environment, list(passwords.values()))


@contextmanager
def behind_tokens(folder: Path, url: str, authority: Authority) -> Iterator[Behind]:
    """One over HTTP that is shown clients' tokens."""
    issuer, keys, own = Issuer(), folder / "keys.json", folder / "own.jwt"
    issuer.add("first", "RS256")
    keys.write_bytes(issuer.key_set())
    tokens = [issuer.token(user, lives_s=7200) for user in (NAME, "cache")]
    own.write_text(tokens[1])
    with guarded_metastore(url, authority, by_jwt(keys)) as address:
        environment = {
            "THRIFT_JWT_KEYS": str(keys),
            "UPSTREAM_HTTP_PATH": "metastore",
            "UPSTREAM_TLS": "true",
            "UPSTREAM_TLS_CA": str(authority.certificate),
            "UPSTREAM_JWT_FILE": str(own),
        }
        secrets = [part for token in tokens for part in token.split(".")]
        yield Behind(address, url, environment, secrets, token=tokens[0])


BEHIND: Final = {"GSSAPI": behind_tickets, "PLAIN": behind_passwords, "JWT": behind_tokens}


class Site(NamedTuple):
    """A worker whose clients log in as it does at the metastore behind it."""

    kind: str
    behind: Behind
    up: Stack
    folder: Path
    port: int
    http_port: int
    trust: Path

    @property
    def address(self) -> str:
        return f"thrift://{HOST}:{self.http_port if self.kind == 'JWT' else self.port}"

    @property
    def kerberos_config(self) -> str:
        return f"-Djava.security.krb5.conf={self.behind.realm}"

    @property
    def tls(self) -> dict[str, str]:
        return {
            "hive.metastore.use.SSL": "true",
            "hive.metastore.truststore.path": str(self.trust),
            "hive.metastore.truststore.password": STORE_PASSWORD,
        }

    @property
    def by_ticket(self) -> dict[str, str]:
        return {
            **self.tls,
            "hive.metastore.sasl.enabled": "true",
            "hive.metastore.kerberos.principal": SERVICE,
            "hadoop.security.authentication": "kerberos",
            # Tez wants to know who may renew its tokens, even where it needs none.
            "yarn.resourcemanager.principal": USER,
        }

    @property
    def by_password(self) -> dict[str, str]:
        return {
            **self.tls,
            "hive.metastore.client.auth.mode": "PLAIN",
            "hive.metastore.client.plain.username": NAME,
            NAME: PASSWORD,
        }

    @property
    def by_token(self) -> dict[str, str]:
        return {
            **self.tls,
            "hive.metastore.client.auth.mode": "JWT",
            "hive.metastore.client.thrift.transport.mode": "http",
            "hive.metastore.trustmanagerfactory.algorithm": "PKIX",
        }

    def logins(self) -> float:
        """How many have logged in so."""
        page = local_http.get(f"{self.up.entry('worker-1').address}/metrics", timeout=30).text
        name = f'metatide_thrift_logins_total{{mechanism="{self.kind}"}} '
        return sum(float(line.split()[1]) for line in page.splitlines() if line.startswith(name))


@pytest.fixture(scope="module", params=list(BEHIND))
def site(request: pytest.FixtureRequest, new_database: Callable[[], str]) -> Iterator[Site]:
    port, http_port = free_port(), free_port()
    with open_folder() as folder:
        own, others = Authority(folder / "authority"), Authority(folder / "others")
        certificate, key = own.sign(HOST, HOST)
        with BEHIND[request.param](folder, new_database(), others) as behind:
            environment = {
                "DATABASE_URL": behind.database_url,
                "THRIFT_HTTP_PORT": str(http_port) if request.param == "JWT" else "",
                "THRIFT_TLS_CERTIFICATE": str(certificate),
                "THRIFT_TLS_KEY": str(key),
                **behind.environment,
            }
            with stack(
                folder / "data",
                *("--upstream", behind.address, "--thrift-port", str(port)),
                **{
                    name if name == "PYTHONPATH" else f"METATIDE_{name}": text
                    for name, text in environment.items()
                },
            ) as up:
                up.until_live("worker-1")
                trust = own.java_trust()
                yield Site(request.param, behind, up, folder, port, http_port, trust)


@pytest.fixture(autouse=True)
def _no_secret_is_logged(site: Site) -> Iterator[None]:
    yield
    logs = logs_in(site.up.folder / "logs")
    over = " over HTTP" if site.kind == "JWT" else ""
    assert any(f"listening for Thrift{over}" in text for text in logs.values())
    assert_untold(site.behind.secrets, {**logs, "what is printed": site.up.output})


@pytest.mark.by_turns(3, of="logins of engines")
def test_sessions_of_hive_write_and_read(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HMS_JWT", site.behind.token)
    login = {
        "GSSAPI": Login(
            site.by_ticket,
            (*java_kerberos.OPTIONS, site.kerberos_config),
            (java_kerberos.classes(),),
            USER,
            site.behind.keytab,
        ),
        "PLAIN": Login(site.by_password),
        "JWT": Login(site.by_token),
    }[site.kind]
    folder, schema = site.folder / site.kind, f"hive_{site.kind.lower()}"
    with hive_process(site.address, folder / "warehouse", folder / "hive", login) as process:
        session = process.session("default")
        session.rows(
            f"CREATE DATABASE {schema} LOCATION 'file:{folder}/external' "
            f"MANAGEDLOCATION 'file:{folder}/managed'"
        )
        session.rows(
            f"CREATE TABLE {schema}.t (id int) PARTITIONED BY (ds string) STORED AS ORC "
            "TBLPROPERTIES ('transactional' = 'true')"
        )
        for number in (1, 2):
            session.rows(f"INSERT INTO {schema}.t PARTITION (ds = 'd{number}') VALUES ({number})")
        assert session.rows(f"SHOW PARTITIONS {schema}.t") == ["ds=d1", "ds=d2"]
        assert session.rows(f"SELECT id FROM {schema}.t WHERE ds > 'd1'") == ["2"]
        session.rows(f"DROP DATABASE {schema} CASCADE")
    assert site.logins() > 0


@pytest.mark.by_turns(3, of="logins of engines")
def test_spark_writes_and_reads(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a client of Hive 4. The built-in one, of Hive 2.3, knows neither passwords nor HTTP, and
    no TLS where it logs in by tickets (`tests/metatide/stack/test_secure.py` runs it without).
    """
    before = site.logins()
    options = list[str]()
    properties = {"PLAIN": site.by_password, "JWT": site.by_token, "GSSAPI": site.by_ticket}
    if site.kind == "GSSAPI":
        options += spark_process.by_ticket(
            monkeypatch, site.folder, USER, site.behind.keytab, site.kerberos_config
        )
    monkeypatch.setenv("HMS_JWT", site.behind.token)
    spark_process.set_properties(monkeypatch, properties[site.kind], options)
    lines = query_results(SPARK, site.address, site.folder / "spark", VERSION, client_jars())
    rows = {line["query"]: line["rows"] for line in lines}
    assert rows[SELECTED] == [[2, "a2", "2026-01-02"], [3, "a3", "2026-01-03"]]
    assert site.logins() > before
