"""The facts about a target that decide whether to serve it, as a shard knows them at one moment."""

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
    """Whether the log doesn't record all of its changes."""
    managed: bool = False
    """Whether its writes have write ids."""
    table_id: int = 0
    """0 if it isn't known."""
    pending: bool = False
    """Whether it contains a write that may still be aborted."""
    write_ids: WriteIdList | None = None
    """None if they aren't known or weren't requested."""
    former_names: tuple[TableName, ...] = ()
    """The table's names before renames, which late events may still use."""


class Current(msgspec.Struct, frozen=True):
    """What a read of the database showed about the events after a snapshot."""

    event: int
    """The event id at the time of the read."""
    blocked: Reason | None = None
    """Why a target that lags behind this event can't be taken for complete up to it."""
