"""A worker that starts while the key distribution centre of its metastore's realm is away."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from metatide.stack.machine import free_port
from metatide.stack.ports import Ports
from query_api.thrift.sasl.negotiation import Status
from tests.query_api.thrift.metastore.login.realm import CORE, OWN
from tests.query_api.thrift.sasl.clients import log_in_by_ticket
from tests.query_api.thrift.serving import Client
from tests.query_api.thrift.structs import text
from tests.support.hive.secure_metastore import secure_metastore
from tests.support.kafka.kerberized import keys_in
from tests.support.kafka.topics import new_topic
from tests.support.locked_packages import package_folder
from tests.support.logins.kdc import HOST, REALM, SERVICE, Kdc
from tests.support.logins.tickets import load_gssapi, session_with
from tests.support.processes import open_folder, running
from tests.support.secrets_in_logs import assert_untold, logs_in
from tests.support.workers import WorkerProcess, workers

pytestmark = [
    pytest.mark.logins,
    pytest.mark.hive,
    pytest.mark.timeout(600),
    pytest.mark.by_turns(4, of="logins"),
]


async def said(port: int, ann: Path, tickets: Path) -> bytes:
    """What a client is told of a call that must be relayed."""
    client = Client(*await asyncio.open_connection(HOST, port))
    session = session_with(ann, f"ann@{REALM}", tickets=tickets)
    assert (await log_in_by_ticket(client, session)).status == Status.COMPLETE
    reply = await client.call("get_config_value", text(1, "hive.none") + text(2, "tides") + b"\0")
    await client.close()
    assert reply is not None
    return reply.body


async def test_it_lets_clients_in_and_relays_once_there_is_a_centre(
    kafka_broker: str,
    new_database: Callable[[], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load_gssapi()
    url, port, tickets = new_database(), free_port(), tmp_path / "tickets"
    with open_folder() as folder, ExitStack() as stack, ExitStack() as centre:
        realm = Kdc(folder / "kdc", Ports(folder / "ports.json"))
        centre.enter_context(running(realm, folder / "kdc.out"))
        monkeypatch.setenv("KRB5_CONFIG", str(realm.config))
        ann, own, service = (realm.keytab(name) for name in ("ann", OWN, SERVICE))
        address = stack.enter_context(secure_metastore(realm, service, url, core=CORE))
        session_with(ann, f"ann@{REALM}", tickets=tickets).step()
        worker = WorkerProcess(
            new_topic(kafka_broker, 1),
            tmp_path,
            "worker",
            METATIDE_DATABASE_URL=url,
            METATIDE_WORKER_ADVERTISED_HOST=HOST,
            METATIDE_THRIFT_HOST=HOST,
            METATIDE_THRIFT_PORT=str(port),
            METATIDE_THRIFT_KERBEROS_PRINCIPAL=f"hive/_HOST@{REALM}",
            METATIDE_THRIFT_KERBEROS_KEYTAB=str(service),
            METATIDE_UPSTREAM_URL=address,
            METATIDE_UPSTREAM_KERBEROS_PRINCIPAL=f"hive/_HOST@{REALM}",
            METATIDE_UPSTREAM_KERBEROS_LOGIN=OWN,
            METATIDE_UPSTREAM_KERBEROS_KEYTAB=str(own),
            PYTHONPATH=str(package_folder("gssapi", 1)),
        )
        centre.close()
        stack.enter_context(workers(worker))
        worker.until_ready(1)
        assert b"Cannot contact any KDC" in await said(port, ann, tickets)
        centre.enter_context(running(realm, folder / "kdc.out"))
        async with asyncio.timeout(60):
            while b"tides" not in (reply := await said(port, ann, tickets)):
                assert b"Cannot contact any KDC" in reply
                await asyncio.sleep(0.2)
        assert worker.end() == 0
        keys = [key for keytab in (ann, own, service) for key in keys_in(keytab)]
        assert "Cannot contact any KDC" in worker.log.read_text()
        assert "Traceback" not in worker.log.read_text()
        assert_untold(keys, logs_in(tmp_path))
