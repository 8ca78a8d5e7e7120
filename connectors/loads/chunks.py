"""One load as records: a Begin, numbered chunks of bounded size, an End."""

from collections.abc import Iterable
from typing import Any

import msgspec

from connectors.loads.sink import Sink, shards_of
from state.records import LoadBegin, LoadEnd, LoadRows, Rows, Scope

CHUNK_BYTES_MAX = 512 * 1024
"""About: what one chunk may carry before a further object opens the next."""
ITEM_BYTES = 64
"""About what an object takes beside its bytes."""


class Load:
    """The load of one scope, on its way.

    Begin must be acknowledged before the snapshot is opened: `begin` only sends it. Where several
    read one load at the same time, each has a place among `places`, and the numbers of its chunks
    from there on in steps of that: none needs to know how many the others have.
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
        self._kept: dict[str, list[Any]] = {}
        self._kept_bytes = 0

    def begin(self) -> None:
        """From here on the fold keeps in mind what is deleted."""
        self._send(LoadBegin(self._epoch, self._id, self.scope))

    def read_at(self, position: int) -> None:
        """What is added from here on is the state as of this event."""
        self._position = position

    def add(self, kind: str, images: Iterable[Any]) -> None:
        """More objects, for a field of `Rows`."""
        kept = self._kept.setdefault(kind, [])
        for image in images:
            size = _size(image)
            if self._kept_bytes and self._kept_bytes + size > CHUNK_BYTES_MAX:
                self.flush()
                kept = self._kept.setdefault(kind, [])
            kept.append(image)
            self._kept_bytes += size

    def flush(self) -> None:
        """Sends what is kept."""
        if not self._kept_bytes:
            return
        assert self._position is not None
        rows = Rows(**{kind: tuple(images) for kind, images in self._kept.items()})
        number = self._place + self.chunks * self._places
        self._send(LoadRows(self._epoch, self._id, self.scope, self._position, number, rows))
        self.chunks += 1
        self.bytes += self._kept_bytes
        self._kept, self._kept_bytes = {}, 0

    def fill(self, chunks: int) -> None:
        """Sends empty chunks until there are so many: of all places, the one with the most."""
        assert self._position is not None
        for number in range(self.chunks, chunks):
            place = self._place + number * self._places
            self._send(LoadRows(self._epoch, self._id, self.scope, self._position, place, Rows()))
        self.chunks = max(self.chunks, chunks)

    def end(self, hi: int | None = None) -> None:
        """It has brought everything, as of one position, or of those from there to `hi`."""
        self.flush()
        assert self._position is not None
        at = self._position
        chunks = self.chunks * self._places
        self._send(LoadEnd(self._epoch, self._id, self.scope, at, at if hi is None else hi, chunks))

    def _send(self, record: LoadBegin | LoadRows | LoadEnd) -> None:
        for shard in shards_of(self.scope, self._sink.shards):
            self._sink.send(shard, record)


def _size(image: Any) -> int:
    """About; to encode it only for that would cost as much as all the rest."""
    data = getattr(image, "data", None)
    if data is not None:
        return ITEM_BYTES + len(data)
    fields = msgspec.structs.astuple(image)
    return ITEM_BYTES + sum(len(one) for one in fields if isinstance(one, str | bytes | tuple))
