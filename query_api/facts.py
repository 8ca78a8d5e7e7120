"""What a shard knows of a target at one moment, as far as it decides whether to serve it."""

import msgspec

from hive.names import TableName
from hive.write_ids.lists import WriteIdList
from query_api.positions import Position
from query_api.reasons import Reason


class Facts(msgspec.Struct, frozen=True):
    """Facts about one target in one snapshot of its shard."""

    reached: Position
    """The snapshot reflects all events up to here."""
    refused: Reason | None = None
    """Why it can't be served at all."""
    detail: str = ""
    """Details of the reason, as text."""
    floor: int = 0
    """The event that a load must reflect to make the target warm."""
    silent: bool = False
    """The log doesn't record all its changes."""
    managed: bool = False
    """Its writes have write ids."""
    table_id: int = 0
    """0 if it isn't known."""
    pending: bool = False
    """It contains a write that may be aborted."""
    write_ids: WriteIdList | None = None
    """None if they aren't known or weren't requested."""
    former_names: tuple[TableName, ...] = ()
    """The table's names before renames, which late events may still use."""


class Current(msgspec.Struct, frozen=True):
    """What a read of the database showed of the events after a snapshot."""

    event: int
    """The event id at the time of the read."""
    blocked: Reason | None = None
    """Why a target that isn't complete up to there by itself can't be taken for it."""
