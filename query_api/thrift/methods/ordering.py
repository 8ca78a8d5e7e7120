"""Calls whose meaning depends on the metastore's database."""

from collections.abc import Sequence
from typing import Final

import msgspec

from hive.collation import LATIN, Collation
from query_api.reads.read import Read
from query_api.targets import TargetKind
from query_api.thrift.call import RelayReason
from query_api.thrift.methods.outcome import Outcome
from query_api.thrift.methods.partition import GetPartition, GetPartitionByName
from query_api.thrift.methods.partitions import Partitions
from query_api.thrift.methods.request import CacheRequest, Understood
from query_api.thrift.methods.statistics import Aggregate, PartitionStatistics, TableStatistics

_OF_PARTITIONS: Final = frozenset((TargetKind.PARTITION, TargetKind.PARTITIONS))


def ordered_by(collation: Collation, request: CacheRequest) -> Understood:
    """The parsed call, adapted to the metastore's database, which has this collation."""
    read = request.read
    if not collation.is_exact and any(target.kind in _OF_PARTITIONS for target in read.targets):
        return RelayReason.COLLATION
    if collation.on_mysql and any(_is_read_otherwise(name, collation) for name in _named(read)):
        return RelayReason.COLLATION
    if isinstance(read, Partitions) and (collation.on_mysql or not collation.by_bytes):
        return request._replace(read=msgspec.structs.replace(read, collation=collation))
    if isinstance(read, Aggregate) and collation.on_mysql:
        return request._replace(read=msgspec.structs.replace(read, on_mysql=True))
    return request


def _is_read_otherwise(name: str, collation: Collation) -> bool:
    """Whether MySQL finds a name that lacks blanks at the end, or has more of them, or fails."""
    if name.endswith(" "):
        return True
    return not name.isascii() and collation.name.startswith("latin1") and not LATIN >= set(name)


def _named(read: Read[Outcome]) -> Sequence[str]:
    """The names of the partitions that a call asks for, or their ends, and those of columns and of
    the engine of statistics."""
    match read:
        case GetPartition(values=values):
            return values[-1:]
        case GetPartitionByName(name=name):
            return (name,)
        case Partitions(names=names):
            return names or ()
        case Aggregate() | PartitionStatistics():
            return (*read.names, *read.columns, read.engine)
        case TableStatistics(columns=columns, engine=engine):
            return (*columns, engine)
    return ()
