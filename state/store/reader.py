"""Opens and reads the store of a shard."""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Self
from weakref import WeakSet

from rocksdict import AccessType, Rdict

from hive.errors import UNDECODABLE, OtherStoreError
from state.store import metadata
from state.store.column_families import ColumnFamilies
from state.store.commits import Commits
from state.store.faults import Faults
from state.store.metadata import Identity, StorePosition
from state.store.options import (
    Family,
    MemoryBudget,
    check_families,
    database_options,
    family_options,
)
from state.store.snapshot import StoreSnapshot


class ReadOnlyStore:
    """A store without a writer: a checkpoint, opened where it was made or elsewhere.

    Without `identity` it accepts any shard of this format. Not for a directory that a writer has
    open: it would never see what the writer writes.
    """

    def __init__(
        self,
        path: Path,
        identity: Identity | None = None,
        *,
        families: Sequence[Family] = (),
        budget: MemoryBudget,
    ) -> None:
        self._faults = Faults(path)
        if not (path / "CURRENT").exists():
            raise self._faults.cold("there is no database in it (no CURRENT file)")
        self._start(AccessType.read_only(False), families, budget, create=False)
        self._check_identity(identity)

    def _start(
        self, access: AccessType, families: Sequence[Family], budget: MemoryBudget, *, create: bool
    ) -> None:
        check_families(families)
        plain = Family(name="default")
        options = {
            family.name: family_options(family, budget)
            for family in (plain, Family(name=metadata.FAMILY), *families)
        }
        self._lock = Lock()
        self.commits = Commits()
        self._snapshots: WeakSet[StoreSnapshot] = WeakSet()
        try:
            database = Rdict(
                str(self._faults.path), database_options(budget, create=create), options, access
            )
            self._families = ColumnFamilies(database, families, self._faults)
        except Exception as error:
            raise self._faults.typed(error) from error

    def _check_identity(self, identity: Identity | None) -> None:
        """Refuses a store other than the expected one, and reads its position."""
        try:
            stored = self._families.metadata.get(metadata.IDENTITY_KEY)
            position = self._families.metadata.get(metadata.POSITION_KEY)
        except Exception as error:
            self._families.close()
            raise self._faults.typed(error) from error
        try:
            difference = identity and metadata.differences(stored or b"", identity)
            self._identity = metadata.decode_identity(stored or b"")
            self._position = metadata.decode_position(position or b"")
        except UNDECODABLE as error:
            self._families.close()
            raise self._faults.cold(
                f"it has no readable identity and position ({error})"
            ) from error
        if difference is not None:
            self._families.close()
            raise OtherStoreError(
                f"the store in {self.path} is another one: {difference}. "
                "Point to the right directory, or build the shard again"
            )

    @property
    def path(self) -> Path:
        return self._faults.path

    @property
    def identity(self) -> Identity:
        """The shard and topic that this store holds."""
        return self._identity

    @property
    def position(self) -> StorePosition:
        """The position of the last commit."""
        return self._position

    def snapshot(self) -> StoreSnapshot:
        """The present state with its position, unaffected by later commits."""
        self._faults.check()
        with self._lock:
            if not self._families.opened:
                raise self._faults.closed()
            snapshot = StoreSnapshot(self._families)
            self._snapshots.add(snapshot)
        return snapshot

    def close(self) -> None:
        """Closes the store and its snapshots, with the scans that are running on these."""
        with self._lock:
            for snapshot in list(self._snapshots):
                snapshot.close()
            self._families.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
