"""The records of one load: a Begin, numbered chunks of bounded size, an End."""

from collections.abc import Iterable
from typing import Any

import msgspec

from connectors.loads.sink import Sink
from connectors.log.last_event import LastEvent
from state.records import LoadBegin, LoadEnd, LoadRows, Rows, Scope
from state.records.routing import shards_of

CHUNK_BYTES_MAX = 512 * 1024
"""A chunk of about this size is full: the next object opens another."""
ITEM_BYTES = 64
"""The approximate overhead of an object beside its bytes."""


class Load:
    """One load of one scope while it is written.

    `begin` only sends the Begin; it must be acknowledged before the snapshot is opened. When
    several tasks read one load, each has a place among `places` and numbers its chunks from that
    place in steps of `places`, so that none needs to know how many chunks the others write.
    """

    def __init__(
        self, sink: Sink, epoch: int, id_: str, scope: Scope, place: int = 0, places: int = 1
    ) -> None:
        self.scope = scope
        self.chunks = 0
        self.bytes = 0
        self._sink = sink
        self._epoch = epoch
        self._id = id_
        self._place, self._places = place, places
        self._position: int | None = None
        self._buffers: dict[str, list[Any]] = {}
        self._buffered_bytes = 0

    def begin(self) -> None:
        """Sends the Begin: from here on the fold keeps tombstones of what is deleted."""
        self._send(LoadBegin(self._epoch, self._id, self.scope))

    def read_at(self, position: int) -> None:
        """Sets the event as of which all further objects are read."""
        self._position = position

    def add(self, kind: str, images: Iterable[Any]) -> None:
        """Adds objects to a field of `Rows`."""
        buffer = self._buffers.setdefault(kind, [])
        for image in images:
            size = _size(image)
            if self._buffered_bytes and self._buffered_bytes + size > CHUNK_BYTES_MAX:
                self.flush()
                buffer = self._buffers.setdefault(kind, [])
            buffer.append(image)
            self._buffered_bytes += size

    def flush(self) -> None:
        """Sends the objects that are buffered."""
        if not self._buffered_bytes:
            return
        assert self._position is not None
        rows = Rows(**{kind: tuple(images) for kind, images in self._buffers.items()})
        number = self._place + self.chunks * self._places
        self._send(LoadRows(self._epoch, self._id, self.scope, self._position, number, rows))
        self.chunks += 1
        self.bytes += self._buffered_bytes
        self._buffers, self._buffered_bytes = {}, 0

    def fill(self, chunks: int) -> None:
        """Sends empty chunks until this place has as many chunks as the place with the most."""
        assert self._position is not None
        for number in range(self.chunks, chunks):
            place = self._place + number * self._places
            self._send(LoadRows(self._epoch, self._id, self.scope, self._position, place, Rows()))
        self.chunks = max(self.chunks, chunks)

    def end(self, last: LastEvent) -> None:
        """Sends the End. All was read at positions from the one that was set to this event."""
        self.flush()
        assert self._position is not None
        at = self._position
        chunks = self.chunks * self._places
        record = LoadEnd(self._epoch, self._id, self.scope, at, last.event_id, chunks)
        self._send(record, last.hash)

    def _send(self, record: LoadBegin | LoadRows | LoadEnd, row_hash: bytes | None = None) -> None:
        for shard in shards_of(self.scope, self._sink.shards):
            self._sink.send(shard, record, row_hash)


def _size(image: Any) -> int:
    """Estimates the size of an object, since encoding it just for this would double the work."""
    data = getattr(image, "data", None)
    if data is not None:
        return ITEM_BYTES + len(data)
    fields = msgspec.structs.astuple(image)
    return ITEM_BYTES + sum(
        len(field) for field in fields if isinstance(field, str | bytes | tuple)
    )
