"""Calls whose meaning depends on how the metastore orders names and partitions."""

from typing import Final

import msgspec

from hive.collation import Collation
from query_api.targets import TargetKind
from query_api.thrift.call import Unable
from query_api.thrift.methods.partitions import Partitions
from query_api.thrift.methods.request import CacheRequest, Understood

_OF_PARTITIONS: Final = frozenset((TargetKind.PARTITION, TargetKind.PARTITIONS))


def ordered_by(
    collation: Collation, understood: Understood, *, limits_by_name: bool = True
) -> Understood:
    """The parsed call, adapted to this collation of the metastore's database; and to metastores
    that order partitions by something else than their names where there is a limit on them.
    """
    if isinstance(understood, Unable):
        return understood
    read = understood.read
    if not limits_by_name and isinstance(read, Partitions) and read.most is not None:
        return Unable.ORDER
    if collation.by_bytes:
        return understood
    if not collation.is_exact and any(target.kind in _OF_PARTITIONS for target in read.targets):
        return Unable.COLLATION
    if isinstance(read, Partitions):
        changed = msgspec.structs.replace(read, collation=collation)
        return CacheRequest(changed, understood.write_ids, understood.table_id)
    return understood
