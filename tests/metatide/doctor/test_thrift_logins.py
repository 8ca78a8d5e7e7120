"""What the doctor says of logins at the Thrift server, by real servers of each kind."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import psycopg
import pytest

from hive import schema
from hive.reader.engines import unpooled_engine
from metatide.config import load
from metatide.doctor import Finding, Status, examine, find_target, thrift_logins
from metatide.doctor.checks import CHECKS
from metatide.stack.machine import free_port
from metatide.stack.ports import Ports
from metatide.stack.service import Launch
from query_api.thrift.http_transport.key_set import BYTES_MAX
from query_api.thrift.sasl.relayed_tokens import RelayedTokens
from tests.query_api.thrift.http_transport.issuer import Issuer, serving_keys
from tests.support.logins.certificates import Authority
from tests.support.logins.directory import USER_DN, directory
from tests.support.logins.kdc import HOST, REALM, SERVICE, Kdc, kdc
from tests.support.logins.tickets import clients_of
from tests.support.processes import open_folder, running

pytestmark = pytest.mark.logins
NOBODY: Final = 65534
TLS: Final = {"tls_certificate": "/certificate", "tls_key": "/key"}
HTTP: Final = {"http_port": "0", "port": "0", **TLS}


class ShiftedKdc(Kdc):
    """Its clock isn't this machine's."""

    def __init__(self, folder: Path, ports: Ports, ahead_s: int) -> None:
        super().__init__(folder, ports)
        self._ahead_s = ahead_s

    def prepare(self) -> Launch:
        launch = super().prepare()
        return Launch((*launch.argv, "-T", str(self._ahead_s)), launch.environment)


def finding(check: str, folder: Path, **keys: object) -> Finding:
    """That of a check, for a configuration with these keys."""
    environ = {f"METATIDE_{name.upper()}": str(value) for name, value in keys.items()}
    config = load(environ={"METATIDE_DATA_DIR": str(folder / "none"), **environ}).config
    checks = [one for one in CHECKS if one.name == check]
    (result,) = examine(find_target(config), checks)
    return result.finding


def thrift(**keys: object) -> dict[str, object]:
    return {f"thrift_{name}": value for name, value in keys.items()}


@pytest.fixture(scope="module")
def realm() -> Iterator[Kdc]:
    with open_folder() as folder, kdc(folder) as server, clients_of(server):
        yield server


@pytest.fixture(scope="module")
def authority() -> Iterator[Authority]:
    with open_folder() as folder:
        yield Authority(folder / "authority")


def by_tickets(keytab: Path, **more: object) -> dict[str, object]:
    own = {"kerberos_principal": f"hive/_HOST@{REALM}", "kerberos_keytab": keytab}
    keys = thrift(**{**own, **more})
    return {**keys, "worker_advertised_host": HOST}


def of_clients(keytab: Path, folder: Path, **more: object) -> Finding:
    return finding("logins by Kerberos", folder, **by_tickets(keytab, **more))


def test_what_is_not_configured_is_off(tmp_path: Path) -> None:
    for check in CHECKS:
        if check.name.startswith("logins by") or check.name == "delegation tokens":
            assert finding(check.name, tmp_path).detail.startswith("off: thrift.")


def test_a_keytab_is_tried_at_the_realm(realm: Kdc, tmp_path: Path) -> None:
    keytab = realm.keytab(SERVICE)
    good = of_clients(keytab, tmp_path)
    assert (good.status, good.detail) == (Status.OK, f"{keytab} has the realm's keys of {SERVICE}")
    over_http = of_clients(keytab, tmp_path, **HTTP)
    assert over_http.status is Status.FAILED
    assert f"HTTP/{HOST}@{REALM}" in over_http.detail
    other = of_clients(realm.keytab("ann"), tmp_path)
    assert other.status is Status.FAILED
    assert "ann.keytab can't be used for hive/localhost@TIDES.TEST" in other.detail
    assert "worker.advertised_host" in (other.remedy or "")
    missing = of_clients(tmp_path / "none.keytab", tmp_path)
    assert missing.status is Status.FAILED
    assert "none.keytab isn't there" in missing.detail


def test_old_keys_and_unknown_principals_are_told(realm: Kdc, tmp_path: Path) -> None:
    path = tmp_path / "old.keytab"
    path.write_bytes(realm.keytab(SERVICE).read_bytes())
    realm.keytab(SERVICE)
    old = of_clients(path, tmp_path)
    assert old.status is Status.FAILED
    assert "other keys than the realm" in (old.remedy or ""), old
    path.write_bytes(realm.keytab(SERVICE).read_bytes())
    realm.administer(f"delprinc -force {SERVICE}")
    unknown = of_clients(path, tmp_path)
    assert unknown.status is Status.UNCHECKED
    assert "add the principal to the realm" in (unknown.remedy or "")


@pytest.mark.parametrize("ahead_s", [3000, -3000])
def test_a_clock_that_is_wrong_is_told(tmp_path: Path, ahead_s: int) -> None:
    with open_folder() as folder:
        server = ShiftedKdc(folder / "kdc", Ports(folder / "ports.json"), ahead_s)
        with running(server, folder / "kdc.log"), clients_of(server):
            wrong = of_clients(server.keytab(SERVICE), tmp_path)
    assert wrong.status is Status.FAILED
    assert "NTP" in (wrong.remedy or "")


def test_a_key_distribution_centre_that_is_away_is_told(
    realm: Kdc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = realm.config.read_text().replace(realm.address, f"127.0.0.1:{free_port()}")
    config = tmp_path / "krb5.conf"
    config.write_text(text)
    monkeypatch.setenv("KRB5_CONFIG", str(config))
    away = of_clients(realm.keytab(SERVICE), tmp_path)
    assert away.status is Status.FAILED
    assert "Cannot contact any KDC" in away.detail
    assert "start the key distribution centre" in (away.remedy or "")


@pytest.mark.parametrize(
    ("principal", "login", "detail", "remedy"),
    [
        ("hive/_HOST", "metatide", "metatide@TIDES.TEST gets tickets for hive/localhost", None),
        ("other/_HOST", "metatide", "gets no ticket for other/localhost", "add the principal"),
        ("hive/_HOST", "nobody", "gets no ticket for nobody", ""),
    ],
)
def test_the_workers_own_ticket_for_a_metastore_is_tried(
    realm: Kdc, tmp_path: Path, principal: str, login: str, detail: str, remedy: str | None
) -> None:
    realm.keytab(SERVICE)
    result = finding(
        "metastore login",
        tmp_path,
        upstream_url=f"thrift://{HOST}:1",
        upstream_kerberos_principal=f"{principal}@{REALM}",
        upstream_kerberos_login=f"{login}@{REALM}",
        upstream_kerberos_keytab=realm.keytab("metatide"),
    )
    assert detail in result.detail
    assert (result.status is Status.OK) == (remedy is None)
    assert (remedy or "") in (result.remedy or "")


def test_each_directory_is_tried(authority: Authority, tmp_path: Path) -> None:
    away = f"ldaps://127.0.0.1:{free_port()}"
    keys = {"ldap_user_dn": USER_DN, "ldap_ca": authority.certificate, **TLS}
    with directory(tmp_path / "directory", authority, {"ann": "hush"}) as server:
        name, address = "logins by password", server.address
        good = finding(name, tmp_path, **thrift(ldap_url=address, **keys))
        assert good.status is Status.OK
        half = finding(name, tmp_path, **thrift(ldap_url=f"{address},{away}", **keys))
        assert half.status is Status.FAILED
        assert away.rpartition("/")[2] in half.detail
        assert address.rpartition("/")[2] not in half.detail
        untrusted = finding(name, tmp_path, **thrift(ldap_url=address, ldap_user_dn=USER_DN, **TLS))
        assert untrusted.status is Status.FAILED
        assert "thrift.ldap_ca" in (untrusted.remedy or "")


def test_a_function_that_checks_passwords_is_loaded(tmp_path: Path) -> None:
    name = "logins by password"
    good = finding(name, tmp_path, **thrift(password_check="hmac:compare_digest", **TLS))
    assert (good.status, good.detail.partition(" ")[0]) == (Status.OK, "hmac:compare_digest")
    bad = finding(name, tmp_path, **thrift(password_check="hmac:no_such_function", **TLS))
    assert bad.status is Status.FAILED
    assert "thrift.password_check=hmac:no_such_function can't be loaded" in bad.detail


def test_the_keys_of_an_issuer_are_read(authority: Authority, tmp_path: Path) -> None:
    issuer, name, path = Issuer(), "logins by JWT", tmp_path / "keys.json"
    issuer.add("first")
    path.write_bytes(issuer.key_set())
    more = {"jwt_audience": "metatide", **HTTP}
    assert finding(name, tmp_path, **thrift(jwt_keys=path, **more)).detail == f"1 key at {path}"
    for_all = finding(name, tmp_path, **thrift(jwt_keys=path, **HTTP))
    assert (for_all.status, for_all.remedy) == (Status.UNCHECKED, "set thrift.jwt_audience")
    for content in (b"{}", b'{"keys": []}', b" " * (BYTES_MAX + 1)):
        path.write_bytes(content)
        assert finding(name, tmp_path, **thrift(jwt_keys=path, **more)).status is Status.FAILED
    with serving_keys(issuer, authority) as url:
        at_url = thrift(jwt_keys=url, jwt_ca=authority.certificate, **more)
        assert finding(name, tmp_path, **at_url).status is Status.OK
        untrusted = finding(name, tmp_path, **thrift(jwt_keys=url, **more))
        assert "CERTIFICATE_VERIFY_FAILED" in untrusted.detail


def test_the_store_of_tokens_is_read(
    realm: Kdc, tmp_path: Path, new_database: Callable[[], str]
) -> None:
    url, name = new_database(), "delegation tokens"
    schema.create(unpooled_engine(url), schema.Version.V4_1)
    keys = by_tickets(realm.keytab(SERVICE), delegation_tokens="true")
    assert finding(name, tmp_path, **keys, database_url=url).status is Status.OK
    for nowhere, remedy in (({}, "give --database"), ({"database_url": new_database()}, "correct")):
        none = finding(name, tmp_path, **keys, **nowhere)
        assert (none.status, (none.remedy or "")[: len(remedy)]) == (Status.FAILED, remedy)
    with psycopg.connect(url) as connection:
        connection.execute('ALTER TABLE "DELEGATION_TOKENS" RENAME TO "AWAY"')
    away = finding(name, tmp_path, **keys, database_url=url)
    assert away.status is Status.FAILED
    assert away.detail.startswith("DELEGATION_TOKENS can't be read: ")
    by_metastore = {**keys, "thrift_delegation_token_check": "metastore"}
    none = finding(name, tmp_path, **by_metastore)
    assert (none.status, none.remedy) == (Status.FAILED, "set upstream.url")
    silent = finding(name, tmp_path, **by_metastore, upstream_url=f"thrift://{HOST}:{free_port()}")
    assert silent.status is Status.FAILED
    assert silent.detail.startswith("the metastore offers no check of tokens: no metastore answers")


def test_a_metastore_that_begins_to_check_a_token_is_fine(
    realm: Kdc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def begin(_: RelayedTokens) -> None: ...

    monkeypatch.setattr(thrift_logins, "_begin", begin)
    keys = by_tickets(realm.keytab(SERVICE), delegation_tokens="true")
    by_metastore = {**keys, "thrift_delegation_token_check": "metastore"}
    good = finding("delegation tokens", tmp_path, **by_metastore, upstream_url="thrift://hms:9083")
    assert (good.status, good.detail) == (Status.OK, "hms:9083 checks them")


def test_a_keytab_of_others_is_told(realm: Kdc, tmp_path: Path) -> None:
    keytab = realm.keytab(SERVICE)
    keytab.chmod(0)
    keys = by_tickets(keytab, kerberos_principal=SERVICE)
    user = os.geteuid()
    if user == 0:
        # Root reads all.
        os.seteuid(NOBODY)
    try:
        with open_folder() as folder:
            clients = finding("logins by Kerberos", folder, **keys)
            worker = finding(
                "metastore login",
                folder,
                upstream_url=f"thrift://{HOST}:1",
                upstream_kerberos_principal=f"hive/_HOST@{REALM}",
                upstream_kerberos_login=f"metatide@{REALM}",
                upstream_kerberos_keytab=keytab,
            )
    finally:
        os.seteuid(user)
    for key, result in (("thrift", clients), ("upstream", worker)):
        assert result.detail.startswith(f"{key}.kerberos_keytab ")
        assert result.detail.endswith("isn't there, or this user can't read it")
