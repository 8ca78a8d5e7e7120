"""Engines that log in: sessions of Hive as beeline's users have them, and Spark."""

import getpass
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from metatide.stack import java_kerberos
from metatide.stack.machine import free_port
from tests.query_api.thrift.http_transport.issuer import Issuer
from tests.support import local_http, spark_process
from tests.support.certificates import STORE_PASSWORD, Authority
from tests.support.directory import USER_DN, directory
from tests.support.hive_session import Login, hive_process
from tests.support.kdc import HOST, REALM, SERVICE, kdc
from tests.support.locked_packages import package_folder
from tests.support.processes import open_folder
from tests.support.spark_process import SELECTED, SPARK, VERSION, asked, client_jars
from tests.support.stacks import Stack, stack
from tests.support.worker_log import WorkerLog

pytestmark = [pytest.mark.logins, pytest.mark.hive, pytest.mark.timeout(1800)]
NAME: Final = getpass.getuser()
"""Tez runs only for whoever owns its folders."""
USER: Final = f"{NAME}@{REALM}"
PASSWORD: Final = "wonder#land of tides"


class Site(NamedTuple):
    """A stack whose clients log in by tickets, by passwords, and over HTTP by tokens, too."""

    up: Stack
    folder: Path
    port: int
    http_port: int
    trust: Path
    token: str
    realm: Path
    """What clients of Kerberos read."""
    keytab: Path

    @property
    def address(self) -> str:
        return f"thrift://{HOST}:{self.port}"

    @property
    def http_address(self) -> str:
        return f"thrift://{HOST}:{self.http_port}"

    @property
    def kerberos_config(self) -> str:
        return f"-Djava.security.krb5.conf={self.realm}"

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

    def logins(self, mechanism: str) -> float:
        """How many have logged in so."""
        page = local_http.get(f"{self.up.entry('worker-1').address}/metrics", timeout=30).text
        name = f'metatide_thrift_logins_total{{mechanism="{mechanism}"}} '
        return sum(float(line.split()[1]) for line in page.splitlines() if line.startswith(name))


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    port, http_port = free_port(), free_port()
    with open_folder() as folder:
        authority, issuer = Authority(folder / "authority"), Issuer()
        issuer.add("first", "RS256")
        keys = folder / "keys.json"
        keys.write_bytes(issuer.key_set())
        certificate, key = authority.sign(HOST, HOST)
        with (
            directory(folder / "users", authority, {NAME: PASSWORD}) as users,
            kdc(folder) as realm,
            stack(
                folder / "data",
                *("--metastore", "--thrift-port", str(port)),
                PYTHONPATH=str(package_folder("gssapi", 1)),
                KRB5_CONFIG=str(realm.config),
                METATIDE_THRIFT_KERBEROS_PRINCIPAL=SERVICE,
                METATIDE_THRIFT_KERBEROS_KEYTAB=str(realm.keytab(SERVICE, f"HTTP/{HOST}@{REALM}")),
                METATIDE_THRIFT_HTTP_PORT=str(http_port),
                METATIDE_THRIFT_TLS_CERTIFICATE=str(certificate),
                METATIDE_THRIFT_TLS_KEY=str(key),
                METATIDE_THRIFT_LDAP_URL=users.address,
                METATIDE_THRIFT_LDAP_USER_DN=USER_DN,
                METATIDE_THRIFT_LDAP_CA=str(authority.certificate),
                METATIDE_THRIFT_JWT_KEYS=str(keys),
            ) as up,
        ):
            up.until_live("worker-1")
            token = issuer.token(NAME, lives_s=3600)
            trust, keytab = authority.java_trust(), realm.keytab(NAME)
            yield Site(up, folder, port, http_port, trust, token, realm.config, keytab)


@pytest.fixture(autouse=True)
def _no_secret_is_logged(site: Site, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    log = WorkerLog([])
    log.keep_out(PASSWORD, *site.token.split("."))
    written = "".join(path.read_text() for path in (site.up.folder / "logs").glob("*"))
    assert "listening for Thrift over HTTP" in written
    assert not log.leaked(written + site.up.output)


@pytest.mark.parametrize("kind", ["GSSAPI", "PLAIN", "JWT"])
def test_sessions_of_hive_write_and_read(
    site: Site, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HMS_JWT", site.token)
    login = {
        "GSSAPI": Login(
            site.by_ticket,
            (*java_kerberos.OPTIONS, site.kerberos_config),
            (java_kerberos.classes(),),
            USER,
            site.keytab,
        ),
        "PLAIN": Login(site.by_password),
        "JWT": Login(site.by_token),
    }[kind]
    address = site.http_address if kind == "JWT" else site.address
    folder, schema = site.folder / kind, f"hive_{kind.lower()}"
    with hive_process(address, folder / "warehouse", folder / "hive", login) as process:
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
    assert site.logins(kind) > 0


@pytest.mark.parametrize("kind", ["GSSAPI", "PLAIN", "JWT"])
def test_spark_writes_and_reads(site: Site, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a client of Hive 4. The built-in one, of Hive 2.3, knows neither passwords nor HTTP, and
    no TLS where it logs in by tickets (`tests/metatide/stack/test_secure.py` runs it without).
    """
    before = site.logins(kind)
    address, options, properties = site.address, list[str](), site.by_password
    if kind == "GSSAPI":
        properties = site.by_ticket
        options += spark_process.by_ticket(
            monkeypatch, site.folder, USER, site.keytab, site.kerberos_config
        )
    elif kind == "JWT":
        properties, address = site.by_token, site.http_address
        monkeypatch.setenv("HMS_JWT", site.token)
    spark_process.set_properties(monkeypatch, properties, options)
    folder = site.folder / f"spark-{kind}"
    lines = asked(SPARK, address, folder, VERSION, client_jars())
    rows = {line["query"]: line["rows"] for line in lines}
    assert rows[SELECTED] == [[2, "a2", "2026-01-02"], [3, "a3", "2026-01-03"]]
    assert site.logins(kind) > before
