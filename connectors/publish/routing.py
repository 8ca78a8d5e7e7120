"""Distributes the actions of an event to shards."""

from collections.abc import Iterable, Sequence

import msgspec

from connectors.publish.translate import Address, Addressed
from hive.names import DatabaseName, TableName
from state.records.actions import AnyAction, RenameTable, Side
from state.records.routing import home_shard, table_shard


def route(addressed: Sequence[Addressed], shards: int) -> dict[int, tuple[AnyAction, ...]]:
    """The actions of an event for each shard that it concerns, in their order."""
    if len(addressed) == 1:
        # Most events have one action, and shards can share its list.
        [(address, action)] = addressed
        return dict.fromkeys(_addressees(address, shards), (action,))
    routed: dict[int, list[AnyAction]] = {}
    for address, action in addressed:
        for shard in _addressees(address, shards):
            _append(routed.setdefault(shard, []), action)
    return {shard: tuple(actions) for shard, actions in sorted(routed.items())}


def _addressees(address: Address, shards: int) -> Iterable[int]:
    if isinstance(address, TableName):
        return (table_shard(address, shards),)
    if isinstance(address, DatabaseName):
        return (home_shard(address, shards),)
    return range(shards)


def _append(actions: list[AnyAction], action: AnyAction) -> None:
    """Adds an action; the two halves of a rename become one when they share a shard."""
    if action in actions:
        return
    if isinstance(action, RenameTable) and actions and isinstance(actions[-1], RenameTable):
        whole, before = (
            msgspec.structs.replace(half, sides=Side.BOTH) for half in (action, actions[-1])
        )
        # Of several rows of one event id, each may rename a table.
        if whole == before:
            actions[-1] = whole
            return
    actions.append(action)
