"""What the doctor says of a real metastore and the database that it writes."""

from dataclasses import replace

import pytest

from hive.errors import MachineError
from hive.listener import LISTENER
from metatide.config.thrift import Thrift
from metatide.config.upstream import Upstream
from metatide.config.values import ThriftUrls
from metatide.doctor import Finding, Status, Target, examine
from metatide.doctor.upstream import setting
from tests.support.hive import hms_objects as objects
from tests.support.hive.metastore import Instances, MetastoreFactory

pytestmark = pytest.mark.hive
STRIPPING = {
    "metastore.notification.parameters.exclude.patterns": "spark\\..*",
    "metastore.transactional.event.listeners": "",
    "metastore.event.listeners": LISTENER,
    "metastore.event.db.listener.timetolive": "2h",
    "metastore.filter.hook": (
        "org.apache.hadoop.hive.ql.security.authorization.plugin.AuthorizationMetaStoreFilterHook"
    ),
}


def target(instances: Instances) -> Target:
    upstream = Upstream(ThriftUrls(instances.addresses[0]))
    return Target(None, "metatide", 16, instances.database_url, upstream)


def make_table(instances: Instances, database: str) -> None:
    with instances.connect() as client:
        client.create_database(database)
        client.create_table(objects.table(database, "t", {"id": "bigint"}))


def findings(target: Target) -> dict[str, Finding]:
    return {one.check: one.finding for one in examine(target)}


def test_a_metastore_that_is_set_up_well_is_fine(metastore: Instances) -> None:
    make_table(metastore, "doctor_well")
    results = findings(target(metastore))
    for check in ("database", "schema", "notification log", "one transaction"):
        assert results[check].status is Status.OK, results[check]
    for check in (
        *("metastore", "listener", "parameter stripping", "log retention"),
        *("authorization hooks", "default catalog"),
    ):
        assert results[check].status is Status.OK, results[check]
    assert results["log retention"].detail == "events are kept for 7d"


def test_without_upstream_the_database_alone_tells_of_the_transaction(
    metastore: Instances,
) -> None:
    make_table(metastore, "doctor_alone")
    found = findings(replace(target(metastore), upstream=None))
    assert found["one transaction"].status is Status.OK
    assert found["listener"].status is Status.UNCHECKED


def test_a_metastore_that_is_set_up_badly_is_told_what_to_change(
    metastore_factory: MetastoreFactory,
) -> None:
    running = metastore_factory(properties=STRIPPING)
    make_table(running, "doctor_badly")
    results = findings(target(running))
    for check in ("listener", "parameter stripping", "log retention"):
        assert results[check].status is Status.FAILED, results[check]
    assert results["authorization hooks"].status is Status.UNCHECKED, results["authorization hooks"]
    found_relaying = findings(replace(target(running), thrift=Thrift(relay_reads=True)))
    assert found_relaying["authorization hooks"].status is Status.OK
    assert results["one transaction"].status is Status.UNCHECKED


def test_a_metastore_refuses_to_tell_what_is_no_business_of_ours(
    metastore: Instances,
) -> None:
    with pytest.raises(MachineError, match="it refuses to tell javax"):
        setting(target(metastore), "javax.jdo.option.ConnectionPassword")
