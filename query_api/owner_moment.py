"""What an answer of another worker depends on, so that it may be kept here.

The shard's commits aren't seen here. But the log is: as long as it shows no event that touched what
was read, the answer is the owner's still. Orders to the whole cache are in no log, but in each
shard, so one that is here shows them.
"""

from collections.abc import Container
from time import monotonic
from typing import Final, NamedTuple

import msgspec

from hive.names import TableName
from query_api.latest.latest_log import LatestLog
from query_api.positions import Position
from query_api.shards import Moment, Views
from query_api.targets import Target

KEPT_S_MAX: Final = 5.0
"""After this long, what no event tells shows here, such as an audit's repair at the owner."""
BYTES_MAX: Final = 4096


class OwnerMoment(NamedTuple):
    """The state of another worker's shard that an answer was read from."""

    shard: int
    targets: tuple[Target, ...]
    reached: Position
    until_s: float
    """The time until which the answer may be kept."""

    def lasts(self, views: Views) -> bool:
        """Whether the answer may still be kept."""
        return (
            views.source.shard(self.shard) is None
            and monotonic() < self.until_s
            and views.let_serve(self.targets, self.reached.epoch)
        )

    def confirmed(self, log: LatestLog) -> "OwnerMoment":
        """The moment after a read of the log has shown that nothing touched its targets."""
        return self._replace(reached=max(self.reached, Position(log.epoch, log.current)))


AnyMoment = Moment | OwnerMoment


class _Form(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    reached: Position
    targets: tuple[Target, ...]


_decode: Final = msgspec.msgpack.Decoder(_Form).decode


def encode(moment: AnyMoment, former_names: Container[TableName]) -> bytes | None:
    """The bytes that tell another worker what an answer depends on; None if it can't know that.

    `former_names` holds the tables that late events may still call by a former name.
    """
    if any(target.is_of_table and target.name in former_names for target in moment.targets):
        return None
    data = msgspec.msgpack.encode(_Form(moment.reached, moment.targets))
    return data if len(data) <= BYTES_MAX else None


def decode(data: bytes, shard: int) -> OwnerMoment | None:
    """The moment in such bytes; None if they can't be read."""
    try:
        form = _decode(data)
    except msgspec.DecodeError:
        return None
    return OwnerMoment(shard, form.targets, form.reached, monotonic() + KEPT_S_MAX)
