"""Replies that are kept for as long as nothing that they depend on changes.

A call is looked up by its bytes, so that a repeated one isn't even scanned.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from query_api.latest.latest_log import LatestLog
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.shards import Moment, Views
from query_api.targets import Target
from query_api.thrift.metrics import MethodFigures

BYTES_MAX: Final = 128 * 1024 * 1024
RESULT_BYTES_MAX: Final = 1024 * 1024
_OVERHEAD_BYTES: Final = 500


class CachedReply(msgspec.Struct, eq=False):
    """A result, and what it depends on."""

    moment: Moment
    latest_of: tuple[Target, ...]
    """The targets that the database is asked about each time; empty unless for `latest`."""
    reason: Reason
    result: bytes
    figures: MethodFigures

    @property
    def reached(self) -> Position:
        return self.moment.reached

    def is_latest(self, latest: LatestLog) -> bool:
        """Whether no event up to the current one of this read touched it."""
        return latest.leaves(self.latest_of, self.reached)


class ReplyCache:
    """Results up to a number of bytes; the least recently used are dropped first."""

    def __init__(self, views: Views, is_rewound: Callable[[int], bool]) -> None:
        self._views = views
        self._is_rewound = is_rewound
        self._kept: OrderedDict[bytes, CachedReply] = OrderedDict()
        self._bytes = 0

    def get(self, call: bytes) -> CachedReply | None:
        """The kept result, if it is what would be answered now."""
        kept = self._kept.get(call)
        if kept is None:
            return None
        moment = self._views.renewed(kept.moment)
        if moment is None or self._is_rewound(moment.reached.epoch):
            self._drop(call)
            return None
        kept.moment = moment
        self._kept.move_to_end(call)
        return kept

    def put(self, call: bytes, kept: CachedReply) -> None:
        if len(kept.result) > RESULT_BYTES_MAX:
            return
        self._drop(call)
        self._kept[call] = kept
        self._bytes += len(call) + len(kept.result) + _OVERHEAD_BYTES
        while self._bytes > BYTES_MAX:
            self._drop(next(iter(self._kept)))

    def clear(self) -> None:
        """Drops all results."""
        self._kept.clear()
        self._bytes = 0

    def _drop(self, call: bytes) -> None:
        dropped = self._kept.pop(call, None)
        if dropped is not None:
            self._bytes -= len(call) + len(dropped.result) + _OVERHEAD_BYTES
