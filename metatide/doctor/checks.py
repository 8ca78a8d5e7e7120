"""All checks, in the order in which they run and are shown."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaException
from sqlalchemy.exc import SQLAlchemyError

from hive.errors import MetatideError
from metatide.doctor import (
    connectors,
    database,
    expressions,
    java,
    kafka,
    kerberos,
    log,
    metastore,
    peers,
    thrift_logins,
)
from metatide.doctor.finding import Finding, Status, failed, joined, unchecked
from metatide.doctor.target import Target
from metatide.doctor.upstream import each_metastore


@dataclass(frozen=True)
class Check:
    """One line of the output. A check is skipped if the one that it `needs` failed."""

    name: str
    run: Callable[[Target], Finding]
    needs: str | None = None
    of_each_metastore: bool = False
    """Whether it is about a metastore's own settings, and runs for each."""


@dataclass(frozen=True)
class Result:
    """A check and its finding."""

    check: str
    finding: Finding


CHECKS = (
    Check("java", java.version),
    Check("kafka", kafka.reachable),
    Check("kafka by workers", kafka.reachable_by_workers),
    Check("kafka by Spark", kafka.reachable_by_spark),
    Check("kafka record size", kafka.record_size, "kafka"),
    Check("kafka topic", kafka.topic, "kafka"),
    Check("database", database.reachable),
    Check("schema", database.schema, "database"),
    Check("collation", database.collation, "schema"),
    Check("notification log", log.complete, "schema"),
    Check("one transaction", metastore.one_transaction, "schema"),
    Check("connectors", connectors.publishing, "kafka topic"),
    Check("metastore login", kerberos.at_metastore, of_each_metastore=True),
    Check("metastore", metastore.reachable, of_each_metastore=True),
    Check("impersonation", metastore.impersonation, "metastore", of_each_metastore=True),
    Check("listener", metastore.listener, "metastore", of_each_metastore=True),
    Check("parameter stripping", metastore.stripping, "metastore", of_each_metastore=True),
    Check("log retention", metastore.retention, "metastore", of_each_metastore=True),
    Check("default catalog", metastore.default_catalog, "metastore", of_each_metastore=True),
    Check("authorization hooks", metastore.authorization, "metastore"),
    Check("logins by Kerberos", kerberos.of_clients),
    Check("logins by password", thrift_logins.by_password),
    Check("logins by JWT", thrift_logins.by_jwt),
    Check("delegation tokens", thrift_logins.by_delegation_token, of_each_metastore=True),
    Check("expressions", expressions.readable),
    Check("workers' secret", peers.secret),
)


def examine(target: Target, checks: Sequence[Check] = CHECKS) -> Iterator[Result]:
    """Runs the checks, and yields each result as soon as it is known."""
    findings: dict[str, Finding] = {}
    for check in checks:
        needed = findings[check.needs] if check.needs is not None else None
        if needed is not None and needed.status is not Status.OK:
            finding = unchecked(f"needs {check.needs}", needed.remedy or "")
        else:
            finding = _run(check, target)
        findings[check.name] = finding
        yield Result(check.name, finding)


def _run(check: Check, target: Target) -> Finding:
    metastores = each_metastore(target) if check.of_each_metastore else {}
    if len(metastores) < 2:
        return _attempt(check, target)
    return joined({address: _attempt(check, each) for address, each in metastores.items()})


def _attempt(check: Check, target: Target) -> Finding:
    """The finding of a check. An error, such as a missing permission, becomes one, too."""
    try:
        return check.run(target)
    except (KafkaException, SQLAlchemyError, MetatideError) as error:
        reason = str(error).partition("\n")[0]
        return failed(f"can't be checked: {reason}", "solve that and run this again")
