"""What there is to audit, and which of it a sample draws."""

import heapq
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final

from hive.names import TableName
from query_api.shards import ShardSource, Views
from query_api.targets import Target, TargetKind
from state.records import Scope, ScopeKind
from state.records.routing import home_shard
from state.shard_reader import ShardReader

TARGETS: Final = {
    ScopeKind.TABLE: (
        TargetKind.TABLE,
        TargetKind.PARTITIONS,
        TargetKind.STATISTICS,
        TargetKind.CONSTRAINTS,
    ),
    ScopeKind.NAMES: (TargetKind.NAMES, TargetKind.FUNCTIONS),
    ScopeKind.DATABASES: (TargetKind.DATABASES,),
}
"""What is compared of a scope. Write ids are compared with their table."""


def targets_of(scope: Scope) -> tuple[Target, ...]:
    """Everything of a scope that can be warm or cold by itself."""
    return tuple(Target(kind, scope.name) for kind in TARGETS[scope.kind])


def known_scopes(views: Views) -> Iterator[Scope]:
    """All that the shards here know something of."""
    source = views.source
    for number in range(source.count):
        reader = views.own_reader(number)
        if reader is not None:
            yield from _of_shard(source, number, reader)


def _of_shard(source: ShardSource, number: int, reader: ShardReader) -> Iterator[Scope]:
    for name in reader.table_names():
        yield Scope(ScopeKind.TABLE, name)
    for db in reader.database_names():
        if home_shard(db, source.count) == number:
            yield Scope(ScopeKind.NAMES, TableName(db.catalog, db.db, ""))
    # Databases are in every shard, and each of these may be wrong; the first one here tells.
    if all(source.shard(before) is None for before in range(number)):
        for catalog in reader.catalogs():
            yield Scope(ScopeKind.DATABASES, TableName(catalog, "", ""))


def draw(scopes: Iterable[Scope], count: int, seed: int) -> list[Scope]:
    """So many at random, or all. The same for a seed, however the scopes are spread: the first
    ones of several draws together are the draw from all."""
    return heapq.nsmallest(count, scopes, key=lambda scope: ticket(scope, seed))


def ticket(scope: Scope, seed: int) -> bytes:
    """Where a scope stands in the order of a seed."""
    text = f"{seed} {scope.kind} {scope.name}"
    return blake2b(text.encode(), digest_size=16).digest()
