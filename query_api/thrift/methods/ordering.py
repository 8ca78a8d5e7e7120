"""Calls whose meaning depends on the metastore's database."""

from typing import Final

import msgspec

from hive.collation import Collation
from query_api.targets import TargetKind
from query_api.thrift.call import RelayReason
from query_api.thrift.methods.partitions import Partitions
from query_api.thrift.methods.request import CacheRequest, Understood
from query_api.thrift.methods.statistics import Aggregate

_OF_PARTITIONS: Final = frozenset((TargetKind.PARTITION, TargetKind.PARTITIONS))


def ordered_by(collation: Collation, request: CacheRequest) -> Understood:
    """The parsed call, adapted to the metastore's database, which has this collation."""
    read = request.read
    if not collation.is_exact and any(target.kind in _OF_PARTITIONS for target in read.targets):
        return RelayReason.COLLATION
    if isinstance(read, Partitions) and (collation.on_mysql or not collation.by_bytes):
        return request._replace(read=msgspec.structs.replace(read, collation=collation))
    if isinstance(read, Aggregate) and collation.on_mysql:
        return request._replace(read=msgspec.structs.replace(read, on_mysql=True))
    return request
