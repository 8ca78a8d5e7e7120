"""The settings of a metastore that answers depend on."""

import asyncio
import re
from typing import Final, NamedTuple

import msgspec
import structlog

from hive.errors import ThriftError, UpstreamError
from hive.names import DEFAULT_CATALOG, DEFAULT_PARTITION
from hive.thrift.binary import decode, encode
from hive.thrift.types import Struct, string
from query_api.thrift.metastore.link import Address, Link, ask
from query_api.thrift.metastore.upstream import Upstreams, UpstreamSettings
from query_api.thrift.protocol.wire import MessageType

TIMEOUT_S: Final = 5.0
_METHOD: Final = "get_config_value"
_ARGUMENTS: Final = Struct(
    "get_config_value_args", (1, "name", string), (2, "defaultValue", string)
)
_RESULT: Final = Struct("get_config_value_result", (0, "success", string))
_BY_NAME: Final = frozenset(("", "part_name", "part_name asc"))
"""Expressions that order partitions by name; releases before Hive 4 have none, and do so."""
_MERGING: Final = (
    ("metastore.stats.fetch.bitvector", "hive.stats.fetch.bitvector"),
    ("metastore.stats.fetch.kll", "hive.stats.fetch.kll"),
    ("metastore.stats.ndv.tuner", "hive.metastore.stats.ndv.tuner"),
    ("metastore.stats.ndv.densityfunction", "hive.metastore.stats.ndv.densityfunction"),
)
"""The settings by which the number of distinct values is made otherwise, in both spellings."""
_IN_SQL: Final = (
    ("metastore.try.direct.sql", "hive.metastore.try.direct.sql"),
    ("metastore.try.direct.sql.ddl", "hive.metastore.try.direct.sql.ddl"),
)
"""The settings by which it reads in its own SQL, in both spellings."""
_DEFAULT_PARTITION: Final = ("metastore.default.partition.name", "hive.exec.default.partition.name")
_OF_TXNS: Final = "hive.txn.stats.enabled"
_OFF: Final = frozenset(("", "false", "0", "0.0"))
_ON: Final = frozenset(("", "true"))
_MS: Final = re.compile(r"(\d{1,9})ms", re.ASCII)

log = structlog.get_logger(__name__)


class MetastoreSettings(NamedTuple):
    """The settings of one metastore."""

    default_catalog: str
    warehouse: str
    """The directory of managed tables; empty if unknown."""
    open_txn_timeout_ms: int | None
    """How long an id without a row counts as an open transaction; None if unknown."""
    orders_by_name: bool
    """Whether partitions are in the order of their names wherever there is a limit on them."""
    merges_by_range: bool = True
    """Whether the number of distinct values over partitions is made of theirs alone, without bit
    vectors and estimates."""
    has_txn_statistics: bool = True
    """Whether statistics of transactional tables may fit a reader's snapshot."""
    reads_in_sql: bool = True
    """Whether it reads partitions and their statistics in its own SQL, where that can be run."""
    default_partition: str = DEFAULT_PARTITION
    """The value that filters take for a missing one."""


async def fetch_settings(settings: UpstreamSettings, address: Address) -> MetastoreSettings | None:
    """Asks the metastore at an address for its settings; None if it doesn't answer."""
    upstreams = Upstreams(msgspec.structs.replace(settings, addresses=(address,)))
    try:
        async with asyncio.timeout(TIMEOUT_S):
            link = await upstreams.open()
            try:
                catalog = await fetch_setting(link, "metastore.catalog.default")
                warehouse = await fetch_setting(link, "metastore.warehouse.dir")
                timeout = await fetch_setting(link, "metastore.txn.opentxn.timeout")
                order = await fetch_setting(link, "metastore.partition.order.expr")
                merging = [await _fetch_first(link, *names) for names in _MERGING]
                of_txns = await fetch_setting(link, _OF_TXNS)
                in_sql = [await _fetch_first(link, *names) for names in _IN_SQL]
                default_partition = await _fetch_first(link, *_DEFAULT_PARTITION)
            finally:
                link.close()
    except (UpstreamError, ThriftError, TimeoutError) as error:
        log.info("a metastore doesn't tell its settings", error=str(error))
        return None
    in_ms = _MS.fullmatch(timeout)
    return MetastoreSettings(
        catalog.lower() or DEFAULT_CATALOG,
        warehouse,
        None if in_ms is None else int(in_ms[1]),
        " ".join(order.replace('"', "").lower().split()) in _BY_NAME,
        all(value.strip().lower() in _OFF for value in merging),
        of_txns.strip().lower() in _ON,
        all(value.strip().lower() in _ON for value in in_sql),
        default_partition or DEFAULT_PARTITION,
    )


async def _fetch_first(link: Link, *names: str) -> str:
    """The value of a setting under the first of its names that the metastore knows."""
    for name in names:
        value = await fetch_setting(link, name)
        if value:
            return value
    return ""


async def fetch_setting(link: Link, name: str) -> str:
    """The value of a setting; empty if it isn't set. Raises UpstreamError."""
    arguments = encode(_ARGUMENTS, {"name": name, "defaultValue": ""})
    reply = await ask(link, _METHOD, arguments)
    result = decode(_RESULT, reply.body) if reply.kind == MessageType.REPLY else {}
    if "success" not in result:
        raise UpstreamError(f"it refuses to tell {name}")
    value: str = result["success"]
    return value
