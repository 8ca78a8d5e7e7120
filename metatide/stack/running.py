"""The services of a running stack, for commands on its data folder."""

from pathlib import Path

import msgspec
import psutil

from hive.errors import InputError, MachineError
from hive.urls import MASK
from metatide.config import Config
from metatide.config.kafka import Kafka
from metatide.config.schema import Database
from metatide.config.upstream import Upstream
from metatide.config.values import DatabaseUrl, Secret, Servers, ThriftUrls
from metatide.stack.kdc import Kdc
from metatide.stack.kept_secret import WORKERS_SECRET
from metatide.stack.realm import Realm
from metatide.stack.state import StackState, StateFile


def completed(config: Config) -> Config:
    """The configuration, with services and the workers' secret of a running stack where it names
    none.
    """
    return msgspec.structs.replace(
        config,
        kafka=kafka_of(config),
        database=database_of(config),
        upstream=upstream_of(config),
        worker=msgspec.structs.replace(config.worker, secret_file=workers_secret(config)),
    )


def kafka_of(config: Config) -> Kafka:
    """The configured brokers, or those of a running stack."""
    stack, kafka = _stack_of(config), config.kafka
    if stack is None or kafka.bootstrap_servers is not None:
        return kafka
    if (own := _own_address(stack, "kafka")) is not None:
        # What is configured of security is for other brokers: the stack's own has none.
        return Kafka(Servers(own), kafka.topic, kafka.partitions)
    if (servers := stack.given.get("kafka")) is not None:
        return msgspec.structs.replace(kafka, bootstrap_servers=Servers(servers))
    return kafka


def database_of(config: Config) -> Database:
    """The configured database, or that of a running stack. Raises InputError if only the stack
    knows its password.
    """
    stack, database = _stack_of(config), config.database
    if stack is None or database.url is not None:
        return database
    if (own := _own_address(stack, "postgres")) is not None:
        password = Secret(_password(config.data_dir))
        return msgspec.structs.replace(database, url=DatabaseUrl(own), password=password)
    if (address := stack.given.get("database")) is None:
        return database
    database = msgspec.structs.replace(database, url=DatabaseUrl(address))
    if MASK in (database.full_url or ""):
        raise InputError(
            f"the running `metatide up` doesn't tell the password of its database, {address}: set "
            "METATIDE_DATABASE_PASSWORD or METATIDE_DATABASE_URL here, too"
        )
    return database


def upstream_of(config: Config) -> Upstream:
    """The configured metastores, or that of a running stack."""
    stack, upstream = _stack_of(config), config.upstream
    if stack is None or upstream.url is not None:
        return upstream
    address = _own_address(stack, "metastore") or stack.given.get("metastore")
    if address is None:
        return upstream
    is_secured = _own_address(stack, Kdc.name) is not None and runs_metastore(config)
    logins = Realm(config.data_dir).upstream_settings() if is_secured else {}
    return msgspec.structs.replace(upstream, url=ThriftUrls(address), **logins)


def workers_secret(config: Config) -> Path | None:
    """The configured file by which workers know each other, or that of a running stack."""
    if config.worker.secret_file is not None or _stack_of(config) is None:
        return config.worker.secret_file
    own = config.data_dir / WORKERS_SECRET
    return own if own.exists() else None


def runs_metastore(config: Config) -> bool:
    """Whether a stack runs a metastore of its own."""
    stack = _stack_of(config)
    return stack is not None and _own_address(stack, "metastore") is not None


def database_url(config: Config) -> str:
    """The URL of the database for a driver. Raises InputError if there is none."""
    url = database_of(config).full_url
    if url is None:
        raise InputError(missing("database", "--database URL", config))
    return url


def missing(what: str, option: str, config: Config) -> str:
    """The message for a service that is neither configured nor running."""
    return (
        f"no {what}: start `metatide up`, or give {option}; a stack was looked for in "
        f"{config.data_dir} (--data-dir)"
    )


def _stack_of(config: Config) -> StackState | None:
    """The stack that runs on the data folder; None if it is one for another Kafka or another
    database than those that are configured, because half of each would be a mixture of two caches.
    """
    stack = StateFile(config.data_dir).read()
    if stack is None or not psutil.pid_exists(stack.pid):
        return None
    servers, url = config.kafka.bootstrap_servers, config.database.url
    theirs = _own_address(stack, "kafka") or stack.given.get("kafka")
    if servers is not None and theirs is not None and not _brokers(servers) & _brokers(theirs):
        return None
    theirs = _own_address(stack, "postgres") or stack.given.get("database")
    if url is not None and theirs is not None and _place(url) != _place(DatabaseUrl(theirs)):
        return None
    return stack


def _brokers(servers: str) -> set[str]:
    return {*servers.split(",")}


def _place(url: DatabaseUrl) -> tuple[object, ...]:
    return url.parts.scheme, url.parts.hostname, url.parts.port, url.parts.path


def _own_address(stack: StackState, name: str) -> str | None:
    return next((entry.address for entry in stack.processes if entry.name == name), None)


def _password(folder: Path) -> str:
    path = folder / "postgres" / "password"
    try:
        return path.read_text()
    except OSError as error:
        raise MachineError(f"{path} cannot be read: {error.strerror}; run as its owner") from error
