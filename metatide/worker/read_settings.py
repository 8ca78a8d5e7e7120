"""What the configuration says about reads: their settings, callers, peers and database."""

import socket
import ssl

import structlog
from sqlalchemy.exc import SQLAlchemyError

from hive.errors import InputError, MachineError, MetatideError
from hive.listener import MAKE_TRANSACTIONAL
from hive.reader.driver_errors import driver_reason
from metatide.advertised import worker_host
from metatide.certificates import server_tls, trusted
from metatide.config import Config
from metatide.metastores import listener_fault, upstream_settings
from metatide.stack.running import upstream_of
from query_api.consistency import Consistency
from query_api.database import Primary
from query_api.http import Settings, Tls
from query_api.http.access import OPEN, FileTokens, Tokens
from query_api.peers import Peers, SecretFile
from query_api.requirement_defaults import Defaults

_NOT_TRANSACTIONAL = (
    "the metastore's listener isn't transactional, so that nobody can tell which event is the "
    f"last: {MAKE_TRANSACTIONAL}"
)

log = structlog.get_logger(__name__)


def open_primary(config: Config) -> Primary | None:
    """The database that answers what the cache can't; None if none is configured."""
    url = config.database.full_url
    if url is None:
        return None
    return Primary(
        url,
        connections=config.database.connections,
        statement_timeout_ms=config.database.statement_timeout_s * 1000,
    )


def read_settings(config: Config, primary: Primary, peers: Peers | None = None) -> Settings:
    """The settings of reads. Raises an error if they contradict each other or the metastore. What
    isn't a worker has no peers.
    """
    _refuse_release(primary)
    reads = config.reads
    pairs = () if reads.tables is None else reads.tables.pairs
    defaults = Defaults(
        Consistency(reads.consistency),
        tuple((pattern, Consistency(consistency)) for pattern, consistency in pairs),
        Consistency(reads.floor),
        _NOT_TRANSACTIONAL if _is_not_transactional(config, primary) else None,
        reads.max_age_ms,
    )
    return Settings(
        defaults,
        tokens_of(config),
        own_names(config),
        admins_only=config.thrift.guards_reads,
        trusted=_trusted(config),
        peers=peers or Peers(),
    )


def peers_of(config: Config, address: str) -> Peers:
    """The other workers of the one that they ask at this address."""
    path = config.worker.secret_file
    needs_secret = config.needs_workers_secret
    if path is None and needs_secret:
        log.warning(
            "worker.secret_file isn't set: this worker doesn't ask others, and the database "
            "answers for what they hold"
        )
    try:
        secret = None if path is None else SecretFile(path)
    except OSError as error:
        raise InputError(f"worker.secret_file: {path} can't be read: {error.strerror}") from error
    return Peers(secret, address, needs_secret=needs_secret)


def own_names(config: Config) -> frozenset[str]:
    """The names of this machine's servers, for requests in browsers."""
    hosts = config.reads.hosts
    own = {config.worker.host, worker_host(config), config.http.host, socket.gethostname()}
    return frozenset(own | set(() if hosts is None else hosts.names))


def tokens_of(config: Config) -> Tokens:
    """The tokens of callers."""
    path = config.reads.tokens_path
    try:
        return OPEN if path is None else FileTokens(path)
    except OSError as error:
        raise InputError(f"reads.tokens_path: {path} can't be read: {error.strerror}") from error


def tls(config: Config) -> Tls | None:
    """The files of the server's certificate, after checking that it fits its key."""
    reads = config.reads
    if server_tls("reads", reads) is None:
        return None
    assert reads.tls_certificate is not None
    assert reads.tls_key is not None
    return Tls(reads.tls_certificate, reads.tls_key)


def _trusted(config: Config) -> ssl.SSLContext | None:
    if config.reads.tls_ca is None:
        return None
    return trusted(config.reads.tls_ca, "reads.tls_ca")


def _refuse_release(primary: Primary) -> None:
    """Raises InputError if the metastore's release is too old for the cache. The release isn't
    known while the database is down.
    """
    try:
        primary.require_release()
    except (SQLAlchemyError, MachineError) as error:
        log.info("can't determine the metastore's release", error=driver_reason(error))


def _is_not_transactional(config: Config, primary: Primary) -> bool:
    """Whether the metastore's settings or its database prove that the listener isn't
    transactional.
    """
    upstream = upstream_of(config)
    if upstream.url is not None:
        settings = upstream_settings(upstream, config.worker.advertised_host)
        try:
            return listener_fault(settings) is not None
        except MachineError as error:
            log.info("can't determine the metastore's listener", error=str(error))
    try:
        return primary.has_unlogged_transactions()
    except (SQLAlchemyError, MetatideError) as error:
        log.info("can't read the notification log", error=driver_reason(error))
        return False
