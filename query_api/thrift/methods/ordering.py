"""Calls whose meaning depends on the metastore's database, and on how it orders partitions."""

from typing import Final

import msgspec

from hive.collation import Collation
from query_api.targets import TargetKind
from query_api.thrift.call import Unable
from query_api.thrift.methods.partitions import Partitions
from query_api.thrift.methods.request import Understood
from query_api.thrift.methods.statistics import Aggregate

_OF_PARTITIONS: Final = frozenset((TargetKind.PARTITION, TargetKind.PARTITIONS))


def ordered_by(
    collation: Collation, understood: Understood, *, limits_by_name: bool = True
) -> Understood:
    """The parsed call, adapted to the metastore's database, which has this collation; and to
    metastores that order partitions by something else than their names where there is a limit on
    them.
    """
    if isinstance(understood, Unable):
        return understood
    read = understood.read
    if not limits_by_name and isinstance(read, Partitions) and read.most is not None:
        return Unable.ORDER
    if not collation.is_exact and any(target.kind in _OF_PARTITIONS for target in read.targets):
        return Unable.COLLATION
    if isinstance(read, Partitions) and (collation.on_mysql or not collation.by_bytes):
        return understood._replace(read=msgspec.structs.replace(read, collation=collation))
    if isinstance(read, Aggregate) and collation.on_mysql:
        return understood._replace(read=msgspec.structs.replace(read, on_mysql=True))
    return understood
