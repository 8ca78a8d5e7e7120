"""All configuration keys. To add one, add a field here: everything else follows from it.

A field has the same name in `metatide.toml` and, after METATIDE_, in the environment; a section is
a TOML table. `key` holds the description and the command-line option.
"""

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from hive.errors import InputError
from hive.names import DEFAULT_CATALOG
from hive.reader.login import LOGIN_PARAMETERS
from hive.units import MIB
from metatide.config.kafka import Kafka
from metatide.config.paths import default_cache_dir, default_data_dir
from metatide.config.section import Section, key, require_together
from metatide.config.thrift import Thrift
from metatide.config.upstream import Upstream
from metatide.config.values import (
    Consistencies,
    DatabaseUrl,
    HostNames,
    HttpUrl,
    Location,
    Secret,
    with_parameters,
)


class Database(Section, frozen=True):
    """The metastore's database, which is only read."""

    url: Annotated[
        DatabaseUrl | None,
        key(
            "A database of yours, `postgresql://…` or `mysql://…`; without it, `metatide up` "
            "starts its own.",
            option="--database",
        ),
    ] = None
    password: Annotated[
        Secret | None, key("The password; takes precedence over one in the URL.")
    ] = None
    password_command: Annotated[
        str | None,
        key(
            "A command that prints the password, for those that change: as clouds' tools do for "
            "logins by a role. It runs without a shell, at most once a minute while connections "
            "are made."
        ),
    ] = None
    tls_ca: Annotated[
        Path | None,
        key(
            "The CA certificates for the database. With them it must use TLS and show a "
            "certificate of its name; without them, TLS is as the URL and its driver say."
        ),
    ] = None
    tls_certificate: Annotated[
        Path | None, key("The client certificate for the database; needs `database.tls_ca`.")
    ] = None
    tls_key: Annotated[Path | None, key("The key of `database.tls_certificate`.")] = None
    default_catalog: Annotated[
        str,
        key(
            "The catalog of what names none: what the metastores have as "
            "`metastore.catalog.default`."
        ),
    ] = DEFAULT_CATALOG
    connections: Annotated[
        int, key("The number of concurrent reads by each worker.", ge=1, le=500)
    ] = 8
    statement_timeout_s: Annotated[
        int, key("Statements that take longer are cancelled.", ge=1, le=3600)
    ] = 20

    @property
    def full_url(self) -> str | None:
        """The URL for an engine, including all that a login needs."""
        if self.url is None:
            return None
        url = self.url if self.password is None else self.url.with_password(self.password)
        parameters = {name: getattr(self, name) for name in LOGIN_PARAMETERS}
        return with_parameters(url, {k: str(v) for k, v in parameters.items() if v is not None})

    def __post_init__(self) -> None:
        """Raises InputError if keys exclude or lack each other."""
        if self.password is not None and self.password_command is not None:
            raise InputError("set either database.password or database.password_command")
        require_together(self, "tls_certificate", "tls_key")
        if self.tls_ca is None and self.tls_certificate is not None:
            raise InputError("database.tls_certificate has no use without database.tls_ca")


class Http(Section, frozen=True):
    """The HTTP server."""

    host: Annotated[str, key("The address to listen on; `0.0.0.0` stands for all addresses.")] = (
        "127.0.0.1"
    )
    port: Annotated[
        int,
        key("The port to listen on; 0 takes a free one.", option="--http-port", ge=0, le=65535),
    ] = 0


class Reads(Section, frozen=True):
    """How workers answer reads; `worker.host` and `worker.port` say where."""

    consistency: Annotated[
        Literal["latest", "within", "any"],
        key("The consistency of requests that state no requirement."),
    ] = "latest"
    max_age_ms: Annotated[
        int,
        key(
            "The age for `within`, where the request names none: an answer lacks at most what was "
            "committed in that many milliseconds before it was asked for.",
            ge=1,
            le=60_000,
        ),
    ] = 100
    tables: Annotated[
        Consistencies | None,
        key(
            "The consistency of tables that match Hive's patterns over `db.table`, in place of "
            "`reads.consistency`: `logs.*=any,*.tmp_*=any`; the first that matches counts."
        ),
    ] = None
    floor: Annotated[
        Literal["any", "latest"],
        key("The least consistency of every answer, whatever the request says."),
    ] = "any"
    tokens_path: Annotated[
        Path | None,
        key(
            "A file of who may ask: lines of `read` or `admin`, a blank, the SHA-256 of a token "
            "in hex. Without it, everybody who reaches the port."
        ),
    ] = None
    hosts: Annotated[
        HostNames | None,
        key(
            "Names with dots by which readers ask a server that has no tokens, and clients of "
            "`thrift.http_port` one without logins, with commas in between: "
            "`metatide.example.com`. Addresses and the machine's own name need none."
        ),
    ] = None
    tls_certificate: Annotated[Path | None, key("The certificate chain for TLS.")] = None
    tls_key: Annotated[Path | None, key("The key of `reads.tls_certificate`.")] = None
    tls_ca: Annotated[
        Path | None,
        key("The CA certificates for other workers; by default the system's."),
    ] = None


class Client(Section, frozen=True):
    """How `metatide get` connects to a server."""

    server: Annotated[
        HttpUrl | None,
        key(
            "The server, `http://HOST:PORT`; by default that of `metatide up`.",
            option="--server",
        ),
    ] = None
    token: Annotated[Secret | None, key("The token for the server.")] = None


class State(Section, frozen=True):
    """The RocksDB stores."""

    memory_mib: Annotated[
        int,
        key("The memory for blocks and writes of all shards of a worker.", ge=32),
    ] = 160

    @property
    def memory_bytes(self) -> int:
        return self.memory_mib * MIB


class Connect(Section, frozen=True):
    """The connector, which copies the metastore's log to the topic."""

    name: Annotated[
        str,
        key(
            "The connector's name, by which `metatide status` and the page list it; connectors on "
            "one machine need different ones.",
            option="--connect-name",
        ),
    ] = "connector-1"
    poll_interval_ms: Annotated[
        int,
        key(
            "How often to look for events while there are none.",
            option="--poll-interval-ms",
            ge=1,
            le=60_000,
        ),
    ] = 40
    host: Annotated[str, key("The address that /metrics and /healthz listen on.")] = "127.0.0.1"
    port: Annotated[
        int,
        key(
            "The port of /metrics and /healthz; 0 takes a free one.",
            option="--connect-port",
            ge=0,
            le=65535,
        ),
    ] = 0


class Worker(Section, frozen=True):
    """A worker process: a member of a consumer group with its own stores."""

    name: Annotated[
        str,
        key(
            "The worker's name, which is also its folder in `workers` of the data folder.",
            option="--worker-name",
        ),
    ] = "worker-1"
    group: Annotated[
        str | None,
        key(
            "The consumer group that divides the shards; each further group is a full replica. A "
            "group serves one topic.",
            default="`kafka.topic`",
        ),
    ] = None
    session_timeout_s: Annotated[
        int, key("After this long without a heartbeat, others take over a worker's shards.", ge=6)
    ] = 10
    flush_s: Annotated[
        int,
        key(
            "How often stores are flushed: after a crash about this much is folded again.",
            ge=1,
            le=600,
        ),
    ] = 15
    secret_file: Annotated[
        Path | None,
        key(
            "A file with a secret of at least 32 characters, the same for all workers, by which "
            "they know each other, and operators' commands. Without it, every process that may "
            "join the group can answer for others; where there are tokens, workers then don't ask "
            "each other."
        ),
    ] = None
    host: Annotated[str, key("The address to listen on; `0.0.0.0` stands for all addresses.")] = (
        "127.0.0.1"
    )
    port: Annotated[
        int,
        key("The port to listen on; 0 takes a free one.", option="--port", ge=0, le=65535),
    ] = 0
    advertised_host: Annotated[
        str | None,
        key(
            "The name or address by which the other workers and commands reach this worker.",
            default="`worker.host`; if that stands for all addresses, the one from which the "
            "brokers are reached",
        ),
    ] = None
    advertised_port: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=65535)] | None,
        key(
            "The port by which the other workers and commands reach this worker.",
            default="the port that it listens on",
        ),
    ] = None
    disk_max_mib: Annotated[
        int, key("The disk space for the stores; beyond it they stop growing. 0: no limit.", ge=0)
    ] = 0
    disk_free_min_mib: Annotated[
        int, key("The disk space to leave free; with less, the stores stop growing.", ge=0)
    ] = 256
    memory_max_mib: Annotated[
        int, key("The memory of the process; beyond it the stores stop growing. 0: no limit.", ge=0)
    ] = 0

    def __post_init__(self) -> None:
        """Raises InputError if the name can't be that of a folder in another."""
        if self.name in ("", ".", "..") or "/" in self.name:
            raise InputError(
                f"worker.name is {self.name!r}, but it names a folder in `workers` of the data "
                "folder: take another, without slashes"
            )


class Images(Section, frozen=True):
    """Copies of the shards, from which a worker without stores starts."""

    url: Annotated[
        Location | None,
        key("A directory, or an fsspec URL of an object store.", option="--images"),
    ] = None
    every_s: Annotated[
        int, key("How often a worker makes an image of each of its shards.", ge=1)
    ] = 3600
    keep: Annotated[int, key("The number of images to keep of each shard.", ge=1)] = 3

    def require_url(self, why: str | None = None) -> Location:
        """The place of the images. Raises InputError without one, and says why it is needed."""
        if self.url is None:
            reason = "" if why is None else f": {why}"
            raise InputError(f"give the place of the images (--images URL){reason}")
        return self.url


class Audit(Section, frozen=True):
    """Comparison of the cache with the database in the background."""

    every_s: Annotated[
        int, key("How often a worker compares a sample of what it holds; 0: never.", ge=0)
    ] = 0
    scopes: Annotated[
        int, key("The number of tables and lists of names in a sample.", ge=1, le=1_000)
    ] = 10


class Health(Section, frozen=True):
    """When something counts as late: on the page, in alerts, in `/readyz`, and for the exit status
    of `metatide status`. Two ages count: that of the oldest event that the database has and the
    cache lacks, and the time since a connector last read the log.
    """

    amber_s: Annotated[int, key("From this age on, the cache is late.", ge=1, le=86_400)] = 10
    red_s: Annotated[
        int, key("From this age on, somebody must look at it now.", ge=1, le=86_400)
    ] = 30


class Log(Section, frozen=True):
    """The log of connectors and workers, on stderr; `metatide up` keeps it in files."""

    format: Annotated[
        Literal["console", "json"] | None,
        key(
            "How a line looks: `console` for people, `json` for programs.",
            default="`console` on a terminal, else `json`",
        ),
    ] = None
    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        key("The least urgent lines that are written."),
    ] = "info"


class Tracing(Section, frozen=True):
    """Traces of reads and of events, for a collector of OpenTelemetry. They need the extra
    `otel`.
    """

    endpoint: Annotated[
        HttpUrl | None,
        key(
            "Where connectors and workers send traces, by OTLP over HTTP: "
            "`http://HOST:4318/v1/traces`.",
            default="none: nothing is traced",
        ),
    ] = None
    per_thousand: Annotated[
        int,
        key(
            "How many of a thousand reads and events are traced. A request that brings a W3C "
            "context is traced if its sender traces it. Connectors and workers need the same "
            "number.",
            ge=0,
            le=1_000,
        ),
    ] = 10


class Spark(Section, frozen=True):
    """Where commands with `--engine spark` run. Spark reads its own settings from
    `spark-defaults.conf` in SPARK_CONF_DIR.
    """

    master: Annotated[
        str,
        key(
            "`local[N,4]`: N cores of this machine, and four tries for each task; or the address "
            "of a cluster, `spark://HOST:PORT`, `yarn`, `k8s://…`.",
            option="--master",
        ),
    ] = "local[*,4]"
    driver_memory_mib: Annotated[
        int, key("Java's memory in the driver, which with `local` is all of it.", ge=512)
    ] = 1024


class Config(Section, frozen=True):
    """The whole configuration."""

    data_dir: Annotated[
        Path,
        key(
            "The folder for everything that must be kept.",
            option="--data-dir",
            default="the user's data folder; for root, the system's",
        ),
    ] = msgspec.field(default_factory=default_data_dir)
    cache_dir: Annotated[
        Path,
        key("The folder for jars and their classes' archives.", default="the user's cache folder"),
    ] = msgspec.field(default_factory=default_cache_dir)
    workers: Annotated[
        int,
        key("The number of worker processes of `metatide up`.", option="--workers", ge=1, le=64),
    ] = 1
    metastore: Annotated[
        bool, key("Whether `metatide up` starts a real Hive 4.2 metastore.", option="--metastore")
    ] = False
    secure: Annotated[
        bool,
        key(
            "Whether clients of the workers of `metatide up`, and workers at its metastore, log in "
            "by tickets of Kerberos, in a realm that it makes: to try that.",
            option="--secure",
        ),
    ] = False
    kafka: Kafka = Kafka()
    database: Database = Database()
    upstream: Upstream = Upstream()
    http: Http = Http()
    reads: Reads = Reads()
    client: Client = Client()
    thrift: Thrift = Thrift()
    state: State = State()
    connect: Connect = Connect()
    worker: Worker = Worker()
    images: Images = Images()
    audit: Audit = Audit()
    health: Health = Health()
    log: Log = Log()
    tracing: Tracing = Tracing()
    spark: Spark = Spark()

    @property
    def worker_group(self) -> str:
        """The consumer group of the workers: workers of two topics never share one by default."""
        return self.worker.group or self.kafka.topic

    @property
    def needs_workers_secret(self) -> bool:
        """Whether workers need a secret to ask each other. Where reads are for some alone, those
        who join the group unproved must neither read nor answer.
        """
        thrift = self.thrift
        return self.reads.tokens_path is not None or thrift.guards_reads or thrift.needs_login
