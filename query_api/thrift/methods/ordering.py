"""Calls whose meaning depends on the collation of the metastore's database."""

from typing import Final

import msgspec

from hive.collation import Collation
from query_api.targets import TargetKind
from query_api.thrift.call import Unable
from query_api.thrift.methods.partitions import Partitions
from query_api.thrift.methods.request import CacheRequest, Understood

_OF_PARTITIONS: Final = frozenset((TargetKind.PARTITION, TargetKind.PARTITIONS))


def ordered_by(collation: Collation, understood: Understood) -> Understood:
    """The parsed call, adapted to this collation of the metastore's database."""
    if collation.by_bytes or isinstance(understood, Unable):
        return understood
    read = understood.read
    if not collation.is_exact and any(target.kind in _OF_PARTITIONS for target in read.targets):
        return Unable.COLLATION
    if isinstance(read, Partitions):
        changed = msgspec.structs.replace(read, collation=collation)
        return CacheRequest(changed, understood.write_ids, understood.table_id)
    return understood
