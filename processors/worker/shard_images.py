"""The images of a shard, as far as its worker restores them."""

import shutil
from threading import Event

import structlog

from processors.lost_records import has_records_of
from processors.worker.parts import WorkerParts
from state.image import Manifest
from state.store import StorePosition
from state.store.families import shard_identity

log = structlog.get_logger(__name__)


class ShardImages:
    """Finds and restores the images of a shard, in threads that `Bulk` has started."""

    def __init__(self, parts: WorkerParts, shard: int, stop: Event) -> None:
        self._parts = parts
        self._shard = shard
        self._stop = stop
        self._unusable: set[str] = set()
        """The names of images of which no store could be made."""

    def restore(self) -> Manifest | None:
        """Restores the newest good image of what the topic has; None means that the shard begins
        from the start of the topic."""
        directory = self._parts.directory
        first = self._parts.bulk.reader().bounds(self._shard).first
        try:
            restored = self._restore_newest()
        except OSError as error:
            if first > 0:
                # The start of the topic was deleted: only an image has what it held.
                raise
            log.warning("images can't be read now", shard=self._shard, error=str(error))
            return None
        if restored is not None:
            directory.swap_in(self._shard)
            log.info(
                "an image was restored",
                shard=self._shard,
                event_id=restored.position.applied,
                image=restored.name,
            )
        return restored

    def has_newer(self, offset: int, end: int) -> bool:
        """Whether a good image is beyond this offset. One of which no store can be made is tried
        once."""
        images = self._parts.images
        if images is None:
            return False
        newer = {
            manifest.name
            for manifest in images.of(shard_identity(self._parts.topic, self._shard))
            if offset < manifest.position.offset <= end
        }
        if newer <= self._unusable:
            return False
        restored = self._restore_newest()
        shutil.rmtree(self._parts.directory.new(self._shard), ignore_errors=True)
        if restored is not None and restored.name in newer:
            return True
        self._unusable |= newer
        return False

    def _restore_newest(self) -> Manifest | None:
        """Makes a store of the newest good image, beside the shard's."""
        assert self._parts.images is not None
        return self._parts.images.restore_newest(
            shard_identity(self._parts.topic, self._shard),
            self._parts.directory.new(self._shard),
            fits=self._fits_topic,
            stop=self._stop,
        )

    def _fits_topic(self, position: StorePosition) -> bool:
        return has_records_of(self._parts.bulk.reader(), self._shard, position)
