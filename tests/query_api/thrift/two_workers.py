"""A worker without the shard of a table, and the owner of that shard."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hive.names import table_name
from query_api.latest.log_end import LogEnd
from query_api.latest.row_effects import RowEffects
from query_api.owner_moment import OwnerMoment
from query_api.peers import Peers, SecretFile
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.targets import Target, TargetKind
from query_api.thrift.call import Call, CallAnswer, Relay
from tests.query_api.shards import ORDERS
from tests.query_api.thrift.serving import HOST, Metastore, Running, answer, serving

TARGETS = (Target(TargetKind.TABLE, ORDERS),)
OTHER = table_name(None, "sales", "other")
REACHED = Position(0, 4)


def log_of(*tables: Any) -> LogEnd:
    """The log from event 4 on, with an event for each of these tables."""
    rows = [(event, RowEffects(tables=(table,))) for event, table in enumerate(tables, 5)]
    marks = {event: event for event in range(4, 5 + len(tables))}
    return LogEnd(0, 4 + len(tables), rows, marks=marks)


def not_ours(log_age_ms: int | None) -> Callable[[Call], Relay]:
    return lambda _: Relay(Reason.NOT_OWNED, 1, log_age_ms)


def owners(_: Call) -> CallAnswer:
    moment = OwnerMoment(0, TARGETS, REACHED, 4, 0.0)
    return answer("owner", REACHED.event, moment=moment)


@asynccontextmanager
async def two(
    secret: Path | None,
    log_age_ms: int | None,
    owned: Callable[[Call], Any] = owners,
    *metastores: Metastore,
) -> AsyncIterator[tuple[Running, Running]]:
    """A worker that is asked, and the owner of what is read."""
    address = [HOST, 0]

    def known_owner_of(_: int) -> Any:
        return tuple(address)

    async def owner_of(shard: int) -> Any:
        return known_owner_of(shard)

    def peers() -> Peers:
        return Peers(None if secret is None else SecretFile(secret))

    more = {"peers": peers(), "host": HOST}
    async with (
        serving(log=log_of(), more=more, get_table=owned) as owner,
        serving(
            *metastores,
            log=log_of(),
            more={"owner_of": owner_of, "known_owner_of": known_owner_of, "peers": peers()},
            get_table=not_ours(log_age_ms),
        ) as here,
    ):
        here.source.shards.append(None)
        address[1] = owner.port
        yield here, owner
