"""What a shard knows of a target at one moment, as far as it decides whether to serve it."""

import msgspec

from hive.names import TableName
from hive.write_ids.lists import WriteIdList
from query_api.positions import Position
from query_api.reasons import Reason


class Facts(msgspec.Struct, frozen=True):
    """Facts about one target in one snapshot of its shard."""

    reached: Position
    """All events up to here are in it."""
    refused: Reason | None = None
    """Why it can't be served to anybody."""
    detail: str = ""
    """More about that, for people."""
    floor: int = 0
    """The event that a load must not be older than to end the coldness."""
    silent: bool = False
    """The log doesn't tell all its changes."""
    managed: bool = False
    """Its writes have write ids."""
    table_id: int = 0
    """0 where it isn't known."""
    pending: bool = False
    """It contains a write that may be aborted."""
    write_ids: WriteIdList | None = None
    """None where they aren't known, or weren't asked for."""
    former_names: tuple[TableName, ...] = ()
    """What the table was called before a rename, as late events may still name it."""


class Current(msgspec.Struct, frozen=True):
    """What a read of the database showed of the events after a snapshot."""

    event: int
    """The event id at the time of the read."""
    blocked: Reason | None = None
    """Why a target that isn't complete up to there by itself can't be taken for it."""
