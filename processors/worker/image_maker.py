"""Makes images of a worker's shards, and deletes old ones."""

import asyncio
from collections.abc import Mapping
from functools import partial
from threading import Event

import structlog

from hive.errors import MetatideError
from processors.lost_records import has_records_of
from processors.replay.bulk_replay import Bulk
from processors.worker.metrics import Metrics
from processors.worker.shard import Shard
from state.image import Images, Manifest
from state.store.families import shard_identity
from state.topic import Topic

log = structlog.get_logger(__name__)


class ImageMaker:
    """Makes one image after the other: there is time, and each takes room on the disk."""

    def __init__(
        self,
        topic: Topic,
        images: Images,
        bulk: Bulk,
        shards: Mapping[int, Shard],
        metrics: Metrics,
        *,
        keep: int,
    ) -> None:
        self._topic = topic
        self._images = images
        self._bulk = bulk
        self._shards = shards
        self._metrics = metrics
        self._keep = keep

    async def run(self, every_s: float) -> None:
        """Makes images of all live shards from time to time, until it is cancelled."""
        while True:
            await asyncio.sleep(every_s)
            for number, shard in dict(self._shards).items():
                if not shard.live:
                    continue
                try:
                    await self.make(number, shard)
                except (OSError, MetatideError) as error:
                    log.error("an image wasn't made", shard=number, error=str(error))

    async def make(self, number: int, shard: Shard) -> Manifest | None:
        """Makes an image of a shard; None if the shard was lost meanwhile."""
        manifest = await shard.make_image()
        if manifest is not None and self._shards.get(number) is shard:
            self._metrics.images.made_s.labels(number).set(manifest.made_s)
            event_id = manifest.position.applied
            log.info("an image was made", shard=number, event_id=event_id, image=manifest.name)
        try:
            stop = Event()
            await self._bulk.restore(partial(self._prune, number, stop), stop)
        except (OSError, MetatideError) as error:
            log.warning("old images weren't pruned", shard=number, error=str(error))
        return manifest

    def _prune(self, shard: int, stop: Event) -> None:
        """Deletes old images of a shard, in a thread that `Bulk` has started."""
        fits = partial(has_records_of, self._bulk.reader(), shard)
        self._images.prune(shard_identity(self._topic, shard), self._keep, fits=fits, stop=stop)
