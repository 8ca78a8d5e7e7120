"""What an answer of another worker depends on, so that it may be cached here.

The shard's commits aren't seen here. But the log is: as long as it has the last event that the
owner had applied, and shows no later one that touched what was read, the answer is the owner's
still. Orders to the whole cache are in no log, but in each shard, so those that are here show them.
"""

from collections.abc import Container
from typing import Annotated, Final, NamedTuple

import msgspec

from hive.errors import UNDECODABLE
from hive.names import TableName
from query_api.elapsed import elapsed_s
from query_api.latest.log_end import LogEnd
from query_api.positions import Position
from query_api.shards import Moment, Views
from query_api.targets import Target

CACHED_S_MAX: Final = 5.0
"""After this long, what no event tells shows here, such as an audit's repair at the owner."""
BYTES_MAX: Final = 4096


class OwnerMoment(NamedTuple):
    """The state of another worker's shard that an answer was read from."""

    shard: int
    targets: tuple[Target, ...]
    reached: Position
    mark: int
    """The mark of the row of the last event that is reached. By it the log shows whether the
    database has lost that event since."""
    until_s: float
    """The time until which the answer may be cached."""

    def lasts(self, views: Views) -> bool:
        """Whether the answer may still be cached."""
        return (
            views.source.shard(self.shard) is None
            and elapsed_s() < self.until_s
            and views.let_serve(self.targets, self.reached.epoch)
        )

    def confirmed(self, log: LogEnd) -> "OwnerMoment | None":
        """The moment after this read of the log; None if the database may have another history, or
        if something may have touched the targets.
        """
        if log.mark_of(self.reached) != self.mark or not log.leaves(self.targets, self.reached):
            return None
        current = Position(log.epoch, log.current)
        return self._replace(reached=current, mark=log.mark_of(current))


AnyMoment = Moment | OwnerMoment


class _Form(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    reached: Position
    targets: tuple[Target, ...]
    mark: Annotated[int, msgspec.Meta(gt=0)]


_decode: Final = msgspec.msgpack.Decoder(_Form).decode


def encode(moment: AnyMoment, former_names: Container[TableName]) -> bytes | None:
    """The bytes that tell another worker what an answer depends on; None if it can't know that.

    `former_names` holds the tables that late events may still call by a former name.
    """
    if any(target.has_former_names and target.name in former_names for target in moment.targets):
        return None
    if not moment.mark:
        return None
    data = msgspec.msgpack.encode(_Form(moment.reached, moment.targets, moment.mark))
    return data if len(data) <= BYTES_MAX else None


def decode(data: bytes, shard: int) -> OwnerMoment | None:
    """The moment in such bytes; None if they can't be read."""
    try:
        form = _decode(data)
    except UNDECODABLE:
        return None
    return OwnerMoment(shard, form.targets, form.reached, form.mark, elapsed_s() + CACHED_S_MAX)
