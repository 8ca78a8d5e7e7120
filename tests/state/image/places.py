"""A store to make images of, and places for images."""

import os
from collections.abc import Callable
from threading import Event

import fsspec

from hive.names import TableName
from processors.fold import Fold
from state.image import Manifest
from state.records import Change
from state.records.actions import CreateTable, PutPartitions
from state.records.objects import PartitionImage, TableImage
from state.store import Identity, MemoryBudget, Store, StorePosition

BUDGET = MemoryBudget(32 << 20)
IDENTITY = Identity(format_version=1, topic_id="a/b+c==", partitions=4, shard=2)
TABLE = TableName("hive", "db", "t")


def fold(store: Store, first: int, last: int, epoch: int = 0) -> None:
    txn = store.transaction()
    fold = Fold(txn)
    if first == 1:
        image = TableImage(TABLE, 1, 0, managed=False, partitioned=True, data=b"table")
        fold.apply(Change(0, 0, 1, (CreateTable(image),)))
    for event in range(max(first, 2), last + 1):
        partition_image = PartitionImage((str(event),), 0, 1, os.urandom(100))
        fold.apply(
            Change(0, event - 1, event, (PutPartitions(TABLE, 0, (partition_image,), added=True),))
        )
    fold.flush()
    store.commit(txn, StorePosition(epoch, last, last))


class Place:
    """Where images are."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.library, self._root = fsspec.core.url_to_fs(url)
        """The library that all images at this place use."""

    def files(self) -> dict[str, bytes]:
        paths = self.library.find(self._root, refresh=True)
        return {path: self.library.cat_file(path) for path in paths}

    def manifest(self) -> str:
        """The path of the only manifest."""
        [path] = [path for path in self.files() if "/manifests/" in path]
        return str(path)

    def rewrite(self, manifest: Manifest, change: Callable[[bytes], bytes]) -> None:
        [path] = [path for path in self.files() if path.endswith(manifest.name)]
        self.library.pipe_file(path, change(self.library.cat_file(path)))


class StoppingAfter(Event):
    """Is set once it was looked at a number of times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.left = looks

    def is_set(self) -> bool:
        self.left -= 1
        return self.left < 0
