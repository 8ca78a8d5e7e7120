"""A simulated storage of images. It outlives every process, is slow, and fails now and then."""

from pathlib import Path
from threading import Event
from typing import Any, Final

from hive.errors import ImageError, StorageError
from state.image import Images, Manifest
from state.image import manifest as manifests
from state.image.storage import raise_if_stopped
from tests.simulation.scheduler import Scheduler
from tests.simulation.stores import SimulatedStore, StorePath

REQUEST_S: Final = (0.005, 0.3)
COPY_S: Final = (0.1, 4.0)
FAILED_SHARE: Final = 0.03


class ImageStorage:
    """What a storage holds: manifests by their paths, and the entries of their stores."""

    root: Final = "images"

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self._random = scheduler.random("images")
        self._images: dict[str, tuple[bytes, dict[bytes, bytes]]] = {}

    def spend(self, least_s: float, most_s: float) -> None:
        """Takes the time of a request, which may fail."""
        self.scheduler.sleep(self._random.uniform(least_s, most_s))
        if self._random.random() < FAILED_SHARE:
            raise StorageError("the storage of images doesn't answer")

    def paths(self, folder: str) -> list[str]:
        self.spend(*REQUEST_S)
        return sorted(path for path in self._images if path.startswith(f"{folder}/"))

    def read(self, path: str) -> bytes:
        self.spend(*REQUEST_S)
        try:
            return self._images[path][0]
        except KeyError:
            raise FileNotFoundError(path) from None

    def remove(self, path: str) -> bool:
        self.spend(*REQUEST_S)
        return self._images.pop(path, None) is not None

    def put(self, path: str, manifest: Manifest, entries: dict[bytes, bytes]) -> None:
        self._images[path] = manifests.encode(manifest), entries

    def entries(self, path: str) -> dict[bytes, bytes]:
        if path not in self._images:
            raise ImageError(f"{path} was pruned")
        return dict(self._images[path][1])


class SimulatedImages(Images):
    """The images of all shards, listed and chosen by production code."""

    _storage: Any

    def __init__(self, storage: ImageStorage, _url: str, _budget: object) -> None:
        self._storage = storage

    def create(self, store: Any, scratch: Path, *, digested: bool = True) -> Manifest:
        assert isinstance(store, SimulatedStore)
        storage = self._storage
        entries, position = store.copy()
        manifest = Manifest(
            identity=store.identity,
            position=position,
            exact="",
            made_s=storage.scheduler.strand.process.wall(),
            files=(),
        )
        storage.spend(*COPY_S)
        storage.put(self._path(manifest), manifest, entries)
        storage.scheduler.note(f"an image of shard {store.identity.shard} at {position.offset}")
        return manifest

    def restore(self, manifest: Manifest, path: Any, *, stop: Event | None = None) -> None:
        assert isinstance(path, StorePath)
        assert not path.exists()
        entries = self._storage.entries(self._path(manifest))
        self._storage.spend(*COPY_S)
        raise_if_stopped(stop)
        path.make(manifest.identity, entries, manifest.position)
        self._storage.scheduler.note(
            f"restores the image of shard {manifest.identity.shard} at {manifest.position.offset}"
        )

    def _path(self, manifest: Manifest) -> str:
        return f"{self._manifests(manifest.identity)}/{manifest.name}"
