"""The state of one shard in one RocksDB."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rocksdict import (
    AccessType,
    BottommostLevelCompaction,
    Checkpoint,
    CompactOptions,
    WriteBatch,
)

from state.store import metadata
from state.store.column_families import METADATA
from state.store.faults import Faults
from state.store.metadata import Identity, StorePosition
from state.store.options import Family, MemoryBudget, compaction_options, write_options
from state.store.overlay import Overlay
from state.store.reader import ReadOnlyStore

_UNFLUSHED_BYTES: Final = "rocksdb.cur-size-all-mem-tables"


class Store(ReadOnlyStore):
    """The store of a shard, for its single writer.

    1. Makes the store, or opens it if it is the one that `identity` names.
    2. Commits a transaction together with its position in one write.
    3. Gives snapshots to readers, and checkpoints to images.
    4. Refuses everything after the first sign of damage.

    It takes one transaction at a time, from one thread, and gives snapshots to any thread.
    """

    def __init__(
        self,
        path: Path,
        identity: Identity,
        *,
        families: Sequence[Family] = (),
        budget: MemoryBudget,
    ) -> None:
        self._faults = Faults(path)
        is_new = not path.exists() or not any(path.iterdir())
        # Without CURRENT, RocksDB would make an empty database among the old files.
        if not is_new and not (path / "CURRENT").exists():
            raise self._faults.cold("the file CURRENT is missing")
        self._start(AccessType.read_write(), families, budget, create=is_new)
        self._write_options = write_options()
        self._defers_compactions = False
        if is_new:
            self._write_identity(identity)
        self._check_identity(identity)

    def _write_identity(self, identity: Identity) -> None:
        batch = WriteBatch(raw_mode=True)
        handle = self._families.metadata_handle
        batch.put(metadata.IDENTITY_KEY, metadata.encode(identity), handle)
        batch.put(metadata.POSITION_KEY, metadata.encode(StorePosition()), handle)
        self._write(batch, StorePosition())
        self.flush()

    def close(self) -> None:
        """Flushes and closes. rocksdict's own flush on closing isn't atomic over families."""
        try:
            if self._families.database is not None and not self._faults.is_cold:
                self.flush()
        finally:
            super().close()

    def transaction(self) -> Overlay:
        self._faults.check()
        return Overlay(self._families)

    def commit(self, transaction: Overlay, position: StorePosition) -> None:
        """Makes the changes and the position visible together, and durable together later.

        The transaction is empty afterwards and may be used again.
        """
        assert position.offset >= self._position.offset, "a commit goes back in the topic"
        self._faults.check()
        self.commits.begin(transaction)
        batch = WriteBatch(raw_mode=True)
        route, handles = self._families.route, self._families.handles
        if not handles:
            raise self._faults.closed()
        for start, end in transaction.ranges:
            batch.delete_range(start, end, handles[route[start[0]]])
        for key, value in transaction.changes.items():
            handle = handles[route[key[0]]]
            if value is None:
                batch.delete(key, handle)
            else:
                batch.put(key, value, handle)
        batch.put(metadata.POSITION_KEY, metadata.encode(position), handles[METADATA])
        self._write(batch, position)
        transaction.clear()

    def _write(self, batch: WriteBatch, position: StorePosition | None = None) -> None:
        """Writes under the lock, so that everything read of the store at one moment has one
        position."""
        with self._lock:
            database = self._families.database
            if database is None:
                raise self._faults.closed()
            try:
                database.write(batch, self._write_options)
            except Exception as error:
                raise self._faults.typed(error) from error
            if position is not None:
                # In this order: whoever sees the position mustn't get a reader from before it.
                self.commits.count += 1
                self._position = position

    def checkpoint(self, path: Path) -> StorePosition:
        """Makes a copy at `path` by hard links, and returns its position.

        It flushes first, because rocksdict lets other threads run during a flush, but holds
        Python's lock while it makes the checkpoint.
        """
        self._faults.check()
        assert not path.exists(), f"{path} is there already"
        self.flush()
        with self._lock:
            database = self._families.database
            if database is None:
                raise self._faults.closed()
            try:
                Checkpoint(database).create_checkpoint(str(path))
            except Exception as error:
                raise self._faults.of_copying(error, path) from error
            return self._position

    @property
    def unflushed_bytes(self) -> int:
        """The memory of what was committed and isn't flushed."""
        sizes = (family.property_int_value(_UNFLUSHED_BYTES) for family in self._families.opened)
        return sum(size or 0 for size in sizes)

    def flush(self) -> StorePosition:
        """Makes the last commit durable, and returns its position.

        The driver calls it every so often: after a crash, folding begins again from there.
        rocksdict's `flush` writes out one family alone, which would separate the position from the
        data. But a compaction begins with an atomic flush of all families. So this compacts the
        range of the position's key, which itself takes next to no time.
        """
        self._faults.check()
        position = self._position
        try:
            self._families.metadata.compact_range(metadata.POSITION_KEY, metadata.POSITION_END)
        except Exception as error:
            raise self._families.error(error) from error
        # A compaction doesn't report that it failed, but every later write does.
        self._write(WriteBatch(raw_mode=True))
        return position

    def defer_compactions(self, *, deferred: bool) -> None:
        """Has flushed files merged more seldom, for a time in which much is written: each merge
        rewrites most of the store."""
        if deferred == self._defers_compactions:
            return
        try:
            for family in self._families.opened:
                family.set_options(compaction_options(deferred=deferred))
        except Exception as error:
            raise self._families.error(error) from error
        self._defers_compactions = deferred

    def compact(self) -> None:
        """Rewrites all files, as small as they get; for images and measurements.

        RocksDB's bindings don't report failure: damage shows when the files are read.
        """
        self.flush()
        options = CompactOptions()
        options.set_bottommost_level_compaction(BottommostLevelCompaction.force_optimized())
        for family in list(self._families.opened):
            family.compact_range(None, None, options)
