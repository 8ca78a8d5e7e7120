"""The worker of the kerberized example, run by its rendered configuration in a real realm."""

import base64
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import yaml
from py4j.protocol import Py4JJavaError

from metatide.stack.machine import free_port
from tests.deploy.helm import CHART, rendered
from tests.query_api.thrift.metastore.login.realm import CORE, PROPERTIES, hive_users, realm
from tests.query_api.thrift.structs import message
from tests.support.hive.client import HiveClient, log_in_by_keytab
from tests.support.hive.secure_metastore import secure_metastore
from tests.support.kafka.kerberized import keys_in
from tests.support.kafka.topics import new_topic
from tests.support.locked_packages import package_folder
from tests.support.logins.certificates import STORE_PASSWORD, Authority
from tests.support.logins.kdc import HOST, REALM, SERVICE
from tests.support.logins.tickets import session_with
from tests.support.processes import open_folder
from tests.support.secrets_in_logs import assert_untold, logs_in
from tests.support.workers import PATIENCE_S, WorkerProcess, workers

pytestmark = [
    pytest.mark.by_turns(4, of="logins"),
    pytest.mark.helm,
    pytest.mark.logins,
    pytest.mark.hive,
    pytest.mark.timeout(900),
]

EXAMPLE: Final = CHART / "examples" / "kerberized.yaml"
MOUNTED: Final = "/etc/metatide/files"
SHARDS: Final = 2
SPNEGO: Final = "1.3.6.1.5.5.2"
OF_KAFKA: Final = "kafka."


def test_its_clients_log_in_by_tickets_and_it_does_so_at_the_metastore(
    kafka_broker: str, new_database: Callable[[], str], tmp_path: Path
) -> None:
    authority, url = Authority(tmp_path / "authority"), new_database()
    certificate = authority.sign(HOST, HOST)
    of_the_metastore = {
        "metastore.use.SSL": "true",
        "metastore.keystore.path": str(authority.java_key(certificate)),
        "metastore.keystore.password": STORE_PASSWORD,
    }
    with (
        realm() as own,
        open_folder() as folder,
        secure_metastore(
            own.kdc, own.service, url, core=CORE, properties=of_the_metastore
        ) as metastore,
        hive_users(own) as users,
    ):
        contents = {
            "database.password_file": b"not asked for here",
            "worker.secret_file": b"tide" * 8,
            "reads.tokens_path": b"",
            "upstream.kerberos_keytab": own.own.read_bytes(),
            "thrift.kerberos_keytab": own.kdc.keytab(SERVICE, f"HTTP/{HOST}@{REALM}").read_bytes(),
            "upstream.tls_ca": authority.certificate.read_bytes(),
            "reads.tls_ca": authority.certificate.read_bytes(),
            "thrift.tls_certificate": certificate.certificate.read_bytes(),
            "thrift.tls_key": certificate.key.read_bytes(),
            "reads.tls_certificate": certificate.certificate.read_bytes(),
            "reads.tls_key": certificate.key.read_bytes(),
        }
        ports = {"port": free_port(), "http_port": free_port()}
        config = write_config(folder, contents, {"upstream": {"url": metastore}, "thrift": ports})
        worker = WorkerProcess(
            new_topic(kafka_broker, SHARDS),
            folder,
            "worker-0",
            METATIDE_CONFIG=str(config),
            METATIDE_DATABASE_URL=url,
            METATIDE_KAFKA_PARTITIONS=str(SHARDS),
            METATIDE_WORKER_HOST="127.0.0.1",
            METATIDE_WORKER_ADVERTISED_HOST=HOST,
            METATIDE_THRIFT_HOST="127.0.0.1",
            PYTHONPATH=str(package_folder("gssapi", 1)),
        )
        with workers(worker):
            until_listening(worker, ports["http_port"])
            properties = {
                **PROPERTIES,
                "metastore.use.SSL": "true",
                "metastore.truststore.path": str(authority.java_trust()),
                "metastore.truststore.password": STORE_PASSWORD,
            }
            address = f"thrift://{HOST}:{ports['port']}"
            log_in_by_keytab(users.java, f"ann@{REALM}", own.users["ann"], properties)
            client = HiveClient(users.java, address, properties)
            assert [*client.client.getAllDatabases()] == ["default"]
            # Relayed: it logs in there, too, and acts for the client's user, as it may not for eve.
            client.client.createDatabase(client.api.Database("ours", "", None, {}))
            assert sorted(client.client.getAllDatabases()) == ["default", "ours"]
            client.close()
            log_in_by_keytab(users.java, f"eve@{REALM}", own.users["eve"], properties)
            eve = HiveClient(users.java, address, properties)
            with pytest.raises(Py4JJavaError, match="eve"):
                eve.client.createDatabase(eve.api.Database("hers", "", None, {}))
            eve.close()
            trusted = ssl.create_default_context(cafile=str(authority.certificate))
            call = post(ports["http_port"], trusted, {})
            assert (call.status_code, call.headers["www-authenticate"]) == (401, "Negotiate")
            session = session_with(own.users["ann"], f"ann@{REALM}", "HTTP", SPNEGO)
            token = base64.b64encode(session.step()).decode()
            call = post(ports["http_port"], trusted, {"authorization": f"Negotiate {token}"})
            assert call.status_code == 200
            assert b"default" in call.content
        keytabs = own.service, own.own, *own.users.values()
        keys = [key for keytab in keytabs for key in keys_in(keytab)]
        assert_untold([*keys, contents["worker.secret_file"]], logs_in(folder))


def write_config(
    folder: Path, contents: Mapping[str, bytes], changes: Mapping[str, Mapping[str, Any]]
) -> Path:
    """The metatide.toml that the chart makes of the example, with what is here in place of its
    addresses, realm and files. Kafka's login has tests of its own.
    """
    values = yaml.safe_load(EXAMPLE.read_text().replace("EXAMPLE.COM", REALM))
    for section, keys in changes.items():
        values["config"][section] |= keys
    values["config"]["thrift"]["kerberos_principal"] = SERVICE
    values["config"]["kafka"] = {"bootstrap_servers": "kafka:9092"}
    values["files"] = {
        name: source for name, source in values["files"].items() if not name.startswith(OF_KAFKA)
    }
    assert values["files"].keys() == contents.keys()
    changed = folder / "values.yaml"
    changed.write_text(yaml.safe_dump(values))
    [text] = (
        each["data"]["metatide.toml"]
        for each in rendered(changed)
        if "metatide.toml" in each.get("data", {})
    )
    files = folder / "files"
    files.mkdir()
    for name, content in contents.items():
        (files / name).write_bytes(content)
        (files / name).chmod(0o600)
    config = folder / "metatide.toml"
    config.write_text(text.replace(MOUNTED, str(files)))
    return config


def until_listening(worker: WorkerProcess, port: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        assert worker.running, worker.log.read_text()[-4000:]
        assert time.monotonic() < deadline, worker.log.read_text()[-4000:]
        try:
            httpx.get(f"https://{HOST}:{port}", verify=False, trust_env=False)
            return
        except httpx.TransportError:
            time.sleep(0.05)


def post(port: int, trusted: ssl.SSLContext, headers: Mapping[str, str]) -> httpx.Response:
    """A call over HTTP for the names of all databases."""
    return httpx.post(
        f"https://{HOST}:{port}/metastore",
        content=message("get_all_databases", b"\0"),
        headers={"content-type": "application/x-thrift", **headers},
        verify=trusted,
        trust_env=False,
    )
