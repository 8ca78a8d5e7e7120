"""What the configuration says of the Thrift server, and what it must not say."""

import importlib.util
import re
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from hive.errors import ForbiddenError, InputError
from metatide.config import Config, load
from metatide.metastores import require_proof, upstream_settings
from metatide.worker.application import worker_application
from metatide.worker.guard import guard_of
from metatide.worker.logins import mechanisms
from metatide.worker.thrift import thrift_settings
from query_api.authorization.lists import Lists
from query_api.authorization.verdicts import MetastoreVerdicts
from tests.query_api.thrift.sasl.clients import no_token


def config(**environ: str) -> Config:
    return load(environ={f"METATIDE_{name}": value for name, value in environ.items()}).config


def test_several_metastores_are_given_as_hives_clients_have_them() -> None:
    configured = config(UPSTREAM_URL="thrift://a:9083, thrift://b:9084", UPSTREAM_FRAMED="true")
    upstream = upstream_settings(configured.upstream, None)
    assert upstream.addresses == (("a", 9083), ("b", 9084))
    assert upstream.framed
    assert upstream.tls is None
    assert upstream_settings(config().upstream, None).addresses == ()


@pytest.mark.parametrize("url", ["thrift://a", "thrift://a:9083,", "http://a:1", "a:9083"])
def test_what_is_no_metastore_is_refused(url: str) -> None:
    with pytest.raises(InputError, match=r"thrift://HOST:PORT"):
        config(UPSTREAM_URL=url)


def test_limits_come_from_the_configuration() -> None:
    given = config(THRIFT_MESSAGE_MIB_MAX="7", THRIFT_CONNECTIONS_MAX="3", THRIFT_SHADOW="true")
    found = thrift_settings(given.thrift, None)
    assert (found.message_bytes_max, found.connections_max) == (7 << 20, 3)
    assert (found.shadow, found.relay_reads) == (True, False)


@pytest.mark.parametrize(
    "guarding",
    [
        {"THRIFT_RELAY_READS": "true"},
        {"THRIFT_RELAY_READS_OF": "vault"},
        {"THRIFT_AUTHORIZATION": "metastore"},
    ],
)
def test_shadows_and_authorization_exclude_each_other(guarding: dict[str, str]) -> None:
    configured = config(THRIFT_SHADOW="true", **guarding)
    with pytest.raises(InputError, match=r"thrift\.shadow excludes thrift\.relay_reads"):
        thrift_settings(configured.thrift, None)


LOGIN = {
    "THRIFT_KERBEROS_PRINCIPAL": "hive/_HOST@EXAMPLE.COM",
    "THRIFT_KERBEROS_KEYTAB": "hive.keytab",
}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"THRIFT_AUTHORIZATION": "lists"}, "set both thrift.authorization=lists and"),
        ({"THRIFT_AUTHORIZATION_LISTS": "lists"}, "set both thrift.authorization=lists and"),
        (
            {"THRIFT_AUTHORIZATION": "lists", "THRIFT_AUTHORIZATION_LISTS": "lists"},
            "believes who clients are: have them log in",
        ),
        ({"THRIFT_RELAY_READS_OF": "a.b.c"}, "expected DB.TABLE, DB or METHOD()"),
        ({"THRIFT_RELAY_READS_OF": "a,,b"}, "expected DB.TABLE, DB or METHOD()"),
        ({"THRIFT_RELAY_READS_OF": "get table()"}, "expected DB.TABLE, DB or METHOD()"),
    ],
)
def test_authorization_that_can_not_be_kept_is_refused(keys: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        config(**keys)


def test_who_decides_comes_from_the_configuration(tmp_path: Path) -> None:
    lists = tmp_path / "lists"
    backend: Any = SimpleNamespace(log_end_reads=None, views=None)
    keys = {**LOGIN, "THRIFT_AUTHORIZATION": "lists", "THRIFT_AUTHORIZATION_LISTS": str(lists)}
    with pytest.raises(InputError, match="can't be read"):
        guard_of(config(**keys), backend)
    lists.write_text("ann sales\n")
    assert isinstance(guard_of(config(**keys), backend).authorizer, Lists)
    patterns = config(THRIFT_RELAY_READS_OF="vault.*, get_part*() ,hr")
    guard = guard_of(patterns, backend)
    assert guard.is_on
    assert guard.authorizer is None
    assert guard.leaves_method("get_partitions")
    assert not guard_of(config(), backend).is_on
    asking = {"THRIFT_AUTHORIZATION": "metastore"}
    with pytest.raises(InputError, match=r"set upstream\.url"):
        guard_of(config(**asking), backend)
    url = {"UPSTREAM_URL": "thrift://hms:9083"}
    authorizer = guard_of(config(**asking, **url), backend).authorizer
    assert isinstance(authorizer, MetastoreVerdicts)
    with pytest.raises(InputError, match=r"set upstream\.impersonate"):
        guard_of(config(**asking, **url, **KERBEROS, UPSTREAM_IMPERSONATE="false"), backend)
    password = {"UPSTREAM_USER": "cache", "UPSTREAM_PASSWORD_FILE": "p", "UPSTREAM_TLS": "true"}
    with pytest.raises(InputError, match="metastores that check passwords run all calls as one"):
        guard_of(config(**asking, **url, **password), backend)


BY_DIRECTORY = {
    "THRIFT_LDAP_URL": "ldaps://ldap",
    "THRIFT_LDAP_USER_DN": "uid={user},cn=users",
    "THRIFT_TLS_CERTIFICATE": "worker.pem",
    "THRIFT_TLS_KEY": "worker.key",
}


@pytest.mark.parametrize(("login", "warned"), [({}, []), (BY_DIRECTORY, ["ANN", "Bob"])])
def test_lists_warn_of_capitals_that_no_login_by_a_directory_has(
    login: dict[str, str], warned: list[str], tmp_path: Path
) -> None:
    lists = tmp_path / "lists"
    lists.write_text("Bob sales\nANN sales\nann hr\n* public\n")
    keys = {**LOGIN, "THRIFT_AUTHORIZATION": "lists", "THRIFT_AUTHORIZATION_LISTS": str(lists)}
    backend: Any = SimpleNamespace()
    with capture_logs() as lines:
        guard_of(config(**keys, **login), backend)
    assert [user for line in lines for user in line["users"]] == warned
    lists.write_text("ann hr\n* public\n")
    with capture_logs() as lines:
        guard_of(config(**keys, **login), backend)
    assert lines == []


def test_kerberos_names_the_extra_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [path for path in sys.path if "/gssapi/" not in path])
    monkeypatch.delitem(sys.modules, "gssapi", raising=False)
    configured = config(
        THRIFT_KERBEROS_PRINCIPAL="hive/_HOST@EXAMPLE.COM", THRIFT_KERBEROS_KEYTAB="hive.keytab"
    )
    with pytest.raises(InputError, match=r"pip install 'metatide\[kerberos\]'"):
        mechanisms(configured.thrift, None, no_token)


def test_tokens_and_protection_exclude_each_other() -> None:
    configured = config(
        THRIFT_KERBEROS_PRINCIPAL="hive/_HOST@EXAMPLE.COM",
        THRIFT_KERBEROS_KEYTAB="hive.keytab",
        THRIFT_KERBEROS_PROTECTION="privacy",
        THRIFT_DELEGATION_TOKENS="true",
    )
    with pytest.raises(InputError, match="only TLS protects what follows a login by token"):
        mechanisms(configured.thrift, None, no_token)


def test_a_port_is_a_number_or_nothing() -> None:
    assert config().thrift.port is None
    assert config(THRIFT_PORT="0").thrift.port == 0
    with pytest.raises(InputError, match="65535"):
        config(THRIFT_PORT="65536")


def test_a_port_for_http_needs_the_other_one_and_has_a_path() -> None:
    with pytest.raises(InputError, match=r"thrift\.http_port needs thrift\.port"):
        config(THRIFT_HTTP_PORT="0")
    configured = config(THRIFT_HTTP_PORT="0", THRIFT_PORT="0", THRIFT_HTTP_PATH="/hms/")
    assert thrift_settings(configured.thrift, None).http.path == "/hms"


def test_clients_of_http_ask_by_the_names_of_the_worker() -> None:
    own_hosts = thrift_settings(config().thrift, None, names=["cache.example.com"]).http.own_hosts
    own_hosts.require(b"cache.example.com:9084", is_local=False, otherwise="")
    with pytest.raises(ForbiddenError):
        own_hosts.require(b"a.example", is_local=False, otherwise="")


def test_tokens_need_a_port_for_http_and_tls() -> None:
    port = {"THRIFT_PORT": "0", "THRIFT_HTTP_PORT": "0"}
    for environ, missing in (
        ({"THRIFT_JWT_KEYS": "keys.json"}, "set thrift.http_port"),
        ({"THRIFT_JWT_KEYS": "keys.json", **port}, "set thrift.tls_certificate"),
        ({"THRIFT_JWT_AUDIENCE": "hive"}, "no use without thrift.jwt_keys"),
    ):
        with pytest.raises(InputError, match=missing):
            config(**environ)


def test_tickets_over_http_need_tls() -> None:
    with pytest.raises(InputError, match=r"send tickets that whoever reads them could use"):
        config(
            THRIFT_PORT="0",
            THRIFT_HTTP_PORT="0",
            THRIFT_KERBEROS_PRINCIPAL="hive/_HOST@EXAMPLE.COM",
            THRIFT_KERBEROS_KEYTAB="hive.keytab",
        )


@pytest.mark.parametrize("keys", ["http://idp/keys", "https://", "ftp://idp/keys"])
def test_keys_come_from_a_file_or_over_tls(keys: str) -> None:
    with pytest.raises(InputError, match=r"https://HOST:PORT/PATH or the path of a file"):
        config(THRIFT_JWT_KEYS=keys)


def test_tokens_name_the_extra_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    configured = config(
        THRIFT_PORT="0",
        THRIFT_HTTP_PORT="0",
        THRIFT_TLS_CERTIFICATE="worker.pem",
        THRIFT_JWT_KEYS="keys.json",
    )
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"pip install 'metatide\[jwt\]'"):
        thrift_settings(configured.thrift, None)


async def test_without_a_database_there_is_no_thrift_server() -> None:
    worker: Any = SimpleNamespace(
        settings=SimpleNamespace(address="127.0.0.1:1"),
        topic=None,
        metrics=SimpleNamespace(registry=CollectorRegistry()),
    )
    async with AsyncExitStack() as parts:
        await worker_application(config(), worker, "http", parts)
    with pytest.raises(InputError, match="--database"):
        await worker_application(config(THRIFT_PORT="0"), worker, "http", parts)


KERBEROS = {
    "UPSTREAM_KERBEROS_PRINCIPAL": "hive/_HOST@EXAMPLE.COM",
    "UPSTREAM_KERBEROS_LOGIN": "cache/_HOST@EXAMPLE.COM",
    "UPSTREAM_KERBEROS_KEYTAB": "cache.keytab",
}


@pytest.mark.parametrize("missing", KERBEROS)
def test_the_keys_of_a_login_at_metastores_go_together(missing: str) -> None:
    with pytest.raises(InputError, match=r"set all of upstream\.kerberos_principal, "):
        config(**{name: text for name, text in KERBEROS.items() if name != missing})


def test_a_login_at_metastores_has_frames_of_its_own() -> None:
    with pytest.raises(InputError, match="exclude each other"):
        config(**KERBEROS, UPSTREAM_FRAMED="true")


def test_a_login_at_metastores_needs_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"upstream\.kerberos_principal needs the extra kerberos"):
        upstream_settings(config(**KERBEROS).upstream, None)


@pytest.mark.parametrize("principal", ["cache", "cache@", "a/b/c@EXAMPLE.COM", "a b@EXAMPLE.COM"])
def test_what_is_no_principal_is_refused(principal: str) -> None:
    with pytest.raises(InputError, match="NAME@REALM"):
        config(**{**KERBEROS, "UPSTREAM_KERBEROS_LOGIN": principal})


def test_a_client_that_need_not_prove_anything_is_not_impersonated() -> None:
    require_proof(config(**KERBEROS, UPSTREAM_IMPERSONATE="false"))
    require_proof(config(UPSTREAM_URL="thrift://a:1"))
    with pytest.raises(InputError, match="have them log in"):
        require_proof(config(**KERBEROS))
