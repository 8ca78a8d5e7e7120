"""That every key of the configuration can be set by the chart's values, and arrives."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from hive.errors import InputError
from metatide.config import KEYS, Effective, load
from metatide.worker.read_settings import (
    open_primary,
    own_names,
    peers_of,
    read_settings,
    tls,
)
from query_api.http.gate import Gate
from tests.deploy.helm import CHART, EXAMPLES, ROOT, Object, notes, rendered
from tests.support.logins.certificates import Authority

pytestmark = pytest.mark.helm

OF_THE_STACK = {"workers", "metastore", "secure"}
"""Keys of `metatide up`, which isn't for containers."""
PASSWORD = {"upstream.user", "upstream.password_file"}
JWT = {"upstream.jwt_file"}
KERBEROS = {f"upstream.kerberos_{name}" for name in ("principal", "login", "keytab")}
LDAP = {f"thrift.ldap_{name}" for name in ("url", "user_dn", "ca")}
PASSWORD_CHECK = "thrift.password_check"
PASSWORD_COMMAND = "database.password_command"
EXCLUDED = (
    {
        PASSWORD_COMMAND,
        "upstream.framed",
        "upstream.http_path",
        PASSWORD_CHECK,
        *PASSWORD,
        *JWT,
    },
    {"database.password_file", "upstream.framed", *KERBEROS, *LDAP, *PASSWORD},
    {"database.password_file", "upstream.http_path", *KERBEROS, PASSWORD_CHECK, *PASSWORD, *JWT},
    {"database.password_file", "upstream.http_path", "upstream.framed", *KERBEROS, *LDAP, *JWT},
)
"""What is left out in turn, because keys exclude each other."""
MOUNTED = "/etc/metatide/files"
VALUES: dict[str, Any] = {
    "thrift.port": 9083,
    "thrift.http_port": 9084,
    "kafka.topic": "of.the-topic_1",
    "kafka.bootstrap_servers": "kafka-a:9092,kafka-b:9092",
    "kafka.security_protocol": "sasl_ssl",
    "kafka.sasl_mechanism": "OAUTHBEARER",
    "kafka.properties": "client.rack=a,connections.max.idle.ms=1000",
    "database.url": "postgresql://user@host:5432/name",
    "upstream.url": "thrift://a:9083,thrift://b:9083",
    "upstream.kerberos_principal": "hive/_HOST@EXAMPLE.COM",
    "upstream.kerberos_login": "metatide/worker@EXAMPLE.COM",
    "thrift.ldap_url": "ldaps://a,ldaps://b:1636",
    PASSWORD_CHECK: "site.passwords:check",
    "thrift.kerberos_principal": "hive/_HOST@EXAMPLE.COM",
    "thrift.ldap_user_dn": "uid={user},dc=example",
    "kafka.sasl_kerberos_principal": "cache@EXAMPLE.COM",
    "kafka.sasl_oauthbearer_extensions": "pool=a,logicalCluster=b",
    "thrift.relay_reads_of": "vault,sales.orders,get_table_meta()",
    "reads.tables": 'logs.*=any,*."tmp"_*=any',
    "reads.hosts": "metatide.example.com",
    "tracing.endpoint": "http://collector:4318/v1/traces",
    "client.server": "https://metatide.example.com",
    "kafka.sasl_oauthbearer_token_endpoint_url": "https://id.example.com/token",
}
SCHEMA = json.loads((CHART / "values.schema.json").read_text())["properties"]


def samples() -> Iterator[tuple[str, str, Any]]:
    """Each key of `config` by section and name, with a value that isn't its default."""
    for section, keys in SCHEMA["config"]["properties"].items():
        for name, schema in keys["properties"].items():
            key = KEYS[f"{section}.{name}"]
            if key.name in VALUES:
                value: Any = VALUES[key.name]
            elif "enum" in schema:
                value = next(choice for choice in schema["enum"] if choice != key.default())
            elif schema["type"] == "boolean":
                value = not key.default()
            elif schema["type"] == "integer":
                value = schema.get("minimum", 0) + 1
                value += value == key.default()
            else:
                value = f'of "{name}" <&>'
            yield section, name, value


def write_values(path: Path, *, without: set[str]) -> None:
    """A value for every other key."""
    config: dict[str, dict[str, Any]] = {}
    for section, name, value in samples():
        if f"{section}.{name}" not in without:
            config.setdefault(section, {})[name] = value
    names = SCHEMA["files"]["properties"].keys() - without
    files = {name: {"secret": "secrets", "key": name} for name in names}
    limits = {"limits": {"memory": "2Gi"}}
    path.write_text(
        yaml.safe_dump({"config": config, "files": files, "workers": {"resources": limits}})
    )


def configurations(
    objects: Sequence[Object], folder: Path, contents: Mapping[str, str] | None = None
) -> Mapping[str, Effective]:
    """What the processes of each role read. Their files are in `folder` in place of where they are
    mounted, with `contents` by the last part of their keys.
    """
    configured: dict[str, Effective] = {}
    [text] = (
        each["data"]["metatide.toml"]
        for each in objects
        if each["kind"] == "ConfigMap" and "metatide.toml" in each["data"]
    )
    file = folder / "metatide.toml"
    of_the_image = dict(
        re.findall(r"(METATIDE_\w+)=(\S+)", (ROOT / "Dockerfile").read_text()),
    )
    for each in objects:
        if each["kind"] in ("Deployment", "StatefulSet"):
            spec = each["spec"]["template"]["spec"]
            [container] = spec["containers"]
            own = folder / container["name"]
            own.mkdir(exist_ok=True)
            for name in mounted_files(spec):
                (own / name).write_text((contents or {}).get(name.split(".")[1], "of a file"))
            file.write_text(text.replace(MOUNTED, str(own)))
            environ = {**of_the_image, **environment(container)}
            assert environ.pop("METATIDE_CONFIG") == "/etc/metatide/config/metatide.toml"
            configured[container["name"]] = load(file=file, environ=environ)
    return configured


def mounted_files(pod: Mapping[str, Any]) -> Iterator[str]:
    """The keys of the files that a pod is given."""
    for volume in pod["volumes"]:
        for source in volume.get("projected", {}).get("sources", []):
            [kind] = source
            yield from (item["path"] for item in source[kind]["items"])


def environment(container: Mapping[str, Any]) -> dict[str, str]:
    environ: dict[str, str] = {}
    for each in container["env"]:
        value = each.get("value", "pod-0")
        environ[each["name"]] = re.sub(r"\$\((\w+)\)", lambda match: environ[match[1]], value)
    return environ


def test_every_key_arrives(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    configured: list[Effective] = []
    for excluded in EXCLUDED:
        write_values(values, without=excluded)
        configured += configurations(rendered(values), tmp_path).values()
    assert len(configured) == 2 * len(EXCLUDED)
    set_by_some = {
        setting.key.name for each in configured for setting in each.settings if not setting.default
    }
    assert KEYS.keys() - set_by_some == OF_THE_STACK
    expected = {f"{section}.{name}": value for section, name, value in samples()}
    # Names of Services stand before it.
    del expected["reads.hosts"]
    for each in configured:
        for setting in each.settings:
            key = setting.key
            if key.name in expected and not setting.default:
                assert setting.value == key.convert(expected[key.name], tmp_path, text=False)
            elif key.secret and not setting.default:
                assert setting.value == "of a file"


# The library that logs in at metastores by Kerberos needn't be there.
@pytest.mark.parametrize("excluded", [each for each in EXCLUDED if each >= KERBEROS])
def test_a_role_is_given_each_file_that_it_reads(excluded: set[str], tmp_path: Path) -> None:
    values, more = tmp_path / "values.yaml", tmp_path / "more.yaml"
    write_values(values, without=excluded - {"database.password_file"} | {PASSWORD_COMMAND})
    nowhere = {
        "database": {"url": "postgresql://user@127.0.0.1:1/name"},
        "upstream": {"url": "thrift://127.0.0.1:1"},
    }
    more.write_text(yaml.safe_dump({"config": nowhere, "serve": {"enabled": True}}))
    authority = Authority(tmp_path / "authority")
    certificate = authority.sign("server")
    contents = {
        "tls_ca": authority.certificate.read_text(),
        "tls_certificate": certificate.certificate.read_text(),
        "tls_key": certificate.key.read_text(),
        "tokens_path": f"read {sha256(b'token').hexdigest()}\n",
        "secret_file": "5" * 64,
        "jwt_file": "e30.e30.e30",
    }
    configured = configurations(rendered(values, more), tmp_path, contents)
    assert configured.keys() == {"connector", "worker", "serve"}
    for role in ("worker", "serve"):
        config = configured[role].config
        primary = open_primary(config)
        assert primary is not None
        peers = peers_of(config, "worker:8080") if role == "worker" else None
        try:
            settings = read_settings(config, primary, peers)
        finally:
            asyncio.run(primary.close())
        assert settings.peers.have_secret is (role == "worker")
        assert settings.trusted is not None
        assert tls(config) is not None


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_a_configuration(example: Path, tmp_path: Path) -> None:
    for effective in configurations(rendered(example), tmp_path).values():
        config = effective.config
        assert config.database.password == "of a file"
        assert {config.worker.port, config.connect.port, config.http.port} == {8080}
        assert {config.worker.host, config.connect.host, config.http.host} == {"0.0.0.0"}


def test_readers_are_let_in_by_the_names_of_services(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    more = {"reads": {"hosts": "a.example.com"}, "images": {"url": "/images"}}
    values.write_text(yaml.safe_dump({"config": more, "serve": {"enabled": True}}))
    small = CHART / "examples" / "small.yaml"
    printed = re.findall(r"https?://([\w.-]+):8080", notes(tmp_path, small, values))
    assert printed == ["tide-metatide-worker.data.svc", "tide-metatide-serve.data.svc"]
    long = [f"{name}.cluster.local" for name in printed]
    names = [*(name.partition(".")[0] for name in printed), *printed, *long, "a.example.com"]
    for effective in configurations(rendered(small, values), tmp_path).values():
        gate = Gate(names=own_names(effective.config))
        # The second is from where the proxy of a mesh passes on what it gets.
        for name, address in product(names, ("192.0.2.1", "127.0.0.6")):
            headers = [(b"host", f"{name}:8080".encode())]
            scope = {"type": "http", "headers": headers, "client": (address, 1)}
            assert gate.may_read(scope), name


def test_the_variables_of_a_service_would_be_taken_for_settings() -> None:
    with pytest.raises(InputError, match="METATIDE_WORKER_PORT"):
        load(environ={"METATIDE_WORKER_PORT": "tcp://10.0.0.1:8080"})
