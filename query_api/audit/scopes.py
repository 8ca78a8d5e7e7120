"""The scopes that can be audited, and how a sample of them is drawn."""

import heapq
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final

from hive.errors import NameFormatError
from hive.names import storable
from query_api.shards import ShardSource, Views
from query_api.targets import Target, TargetKind
from state.records import Scope, ScopeKind, databases_scope, names_scope
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
"""The targets compared for each kind of scope. Write ids are compared along with their table."""


def targets_of(scope: Scope) -> tuple[Target, ...]:
    """The parts of a scope that are warm or cold independently."""
    return tuple(Target(kind, scope.name) for kind in TARGETS[scope.kind])


def known_scopes(views: Views) -> Iterator[Scope]:
    """All scopes that the shards here know of, and that the database can be asked for: forged
    records may name others, by which a whole audit would fail.
    """
    source = views.source
    for number in range(source.count):
        reader = views.own_reader(number)
        if reader is not None:
            yield from filter(_is_storable, _of_shard(source, number, reader))


def _is_storable(scope: Scope) -> bool:
    try:
        storable(scope.name)
    except NameFormatError:
        return False
    return True


def _of_shard(source: ShardSource, number: int, reader: ShardReader) -> Iterator[Scope]:
    for name in reader.table_names():
        yield Scope(ScopeKind.TABLE, name)
    for db in reader.database_names():
        yield names_scope(db)
    # Databases are in every shard, and any copy may be wrong; the first one here is compared.
    if all(source.shard(before) is None for before in range(number)):
        for catalog in reader.catalogs():
            yield databases_scope(catalog)


def draw(scopes: Iterable[Scope], count: int, seed: int) -> list[Scope]:
    """Draws `count` scopes at random, or all. A seed gives the same order however scopes are spread
    over workers, so the draw from all scopes is the beginning of the workers' merged draws.
    """
    return heapq.nsmallest(count, scopes, key=lambda scope: ticket(scope, seed))


def ticket(scope: Scope, seed: int) -> bytes:
    """The sort key of a scope in the order that a seed gives."""
    text = f"{seed} {scope.kind} {scope.name}"
    return blake2b(text.encode(), digest_size=16).digest()
