"""Damage of every kind makes a shard cold, with a reason; nothing else does."""

import gc
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock

import pytest
from rocksdict import DbClosedError, Rdict

from hive.errors import ClosedStoreError, ColdShardError, LockedStoreError, MachineError
from state.store import Store, StorePosition, set_aside
from state.store.faults import Faults
from state.store.metadata import IDENTITY_KEY
from tests.state.store.conftest import Opener

ENTRIES = {b"p%06d" % number: b"%d " % number * 40 for number in range(3000)}


@pytest.fixture
def damaged(tmp_path: Path, opener: Opener) -> Path:
    """A closed store, sound until a test damages it."""
    path = tmp_path / "shard"
    with opener(path) as store:
        transaction = store.transaction()
        for key, value in ENTRIES.items():
            transaction.put(key, value)
        store.commit(transaction, StorePosition(0, 1, 1))
    return path


def largest(path: Path, pattern: str) -> Path:
    return max(path.glob(pattern), key=lambda file: file.stat().st_size)


def cut(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    for index in range(len(content) // 2, len(content) // 2 + 8):
        content[index] ^= 0xFF
    file.write_bytes(content)


def garbage(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")


def empty(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.parametrize(
    ("pattern", "damage"),
    [
        ("CURRENT", empty),
        ("CURRENT", garbage),
        ("CURRENT", Path.unlink),
        ("MANIFEST-*", empty),
        ("MANIFEST-*", cut),
        ("MANIFEST-*", flip),
        ("MANIFEST-*", Path.unlink),
        ("*.sst", empty),
        ("*.sst", cut),
        ("*.sst", Path.unlink),
    ],
)
def test_damage_that_shows_on_opening(
    damaged: Path, opener: Opener, pattern: str, damage: Callable[[Path], None]
) -> None:
    damage(largest(damaged, pattern))
    with pytest.raises(ColdShardError, match=r"shard is cold: .* Set the directory aside"):
        opener(damaged)
    set_aside(damaged)
    with opener(damaged) as rebuilt:
        assert rebuilt.position == StorePosition()


def test_a_damaged_block_never_ends_a_scan_quietly_and_stops_everything(
    damaged: Path, opener: Opener
) -> None:
    flip(largest(damaged, "*.sst"))
    with opener(damaged) as store:
        snapshot = store.snapshot()
        transaction = store.transaction()
        transaction.put(b"x", b"1")
        with pytest.raises(ColdShardError, match="block checksum mismatch"):
            list(snapshot.scan(b"p", b"q"))
        with pytest.raises(ColdShardError, match="block checksum mismatch"):
            snapshot.keys(b"p", b"q", 1_000_000)
        with pytest.raises(ColdShardError, match="block checksum mismatch"):
            snapshot.values(list(ENTRIES))
        with pytest.raises(ColdShardError):
            store.snapshot()
        with pytest.raises(ColdShardError):
            store.transaction()
        with pytest.raises(ColdShardError):
            store.commit(transaction, StorePosition(0, 20, 20))


def test_a_cold_store_that_was_closed_lets_go_of_its_directory_at_once(
    damaged: Path, opener: Opener
) -> None:
    flip(largest(damaged, "*.sst"))
    gc.disable()
    try:
        for _ in range(2):
            store, count = opener(damaged), 0
            with suppress(ColdShardError):
                count = len(list(store.snapshot().scan(b"p", b"q")))
            assert not count
            store.close()
            del store
    finally:
        gc.enable()


@pytest.mark.parametrize("view", ["snapshot", "transaction"])
def test_a_damaged_block_is_noticed_by_gets(damaged: Path, opener: Opener, view: str) -> None:
    flip(largest(damaged, "*.sst"))
    with opener(damaged) as store:
        reads = store.snapshot() if view == "snapshot" else store.transaction()
        with pytest.raises(ColdShardError, match="block checksum mismatch"):
            assert {key: reads.get(key) for key in ENTRIES} == ENTRIES


def test_a_store_without_an_identity_is_cold(tmp_path: Path, opener: Opener) -> None:
    path = tmp_path / "shard"
    opener(path).close()
    database = Rdict(str(path))
    del database.get_column_family("metadata")[IDENTITY_KEY]
    database.close()
    with pytest.raises(ColdShardError, match="has no readable identity"):
        opener(path)


def test_only_the_newest_cold_store_is_kept(tmp_path: Path) -> None:
    for content in ("older", "newer"):
        (tmp_path / "shard").mkdir()
        (tmp_path / "shard" / "CURRENT").write_text(content)
        aside = set_aside(tmp_path / "shard")
    assert [path.name for path in tmp_path.iterdir()] == ["shard.cold"]
    assert (aside / "CURRENT").read_text() == "newer"


def test_a_second_writer_is_told_of_the_first(tmp_path: Path, opener: Opener) -> None:
    with opener(tmp_path / "shard") as store:
        with pytest.raises(LockedStoreError, match="one writer"):
            opener(tmp_path / "shard")
        program = (
            "import sys; from pathlib import Path; from state.store import *;"
            "from tests.state.store.conftest import IDENTITY;"
            "Store(Path(sys.argv[1]), IDENTITY, budget=MemoryBudget(8 << 20))"
        )
        other = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "shard")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "LockedStoreError" in other.stderr
        assert store.snapshot().get(b"x") is None


def test_a_closed_store_says_so_and_can_be_opened_again(tmp_path: Path, opener: Opener) -> None:
    store = opener(tmp_path / "shard")
    transaction = store.transaction()
    snapshot = store.snapshot()
    store.close()
    for read in (
        lambda: snapshot.get(b"x"),
        lambda: snapshot.scan(b"x", b"y"),
        lambda: snapshot.position,
        lambda: transaction.get(b"x"),
        lambda: transaction.scan(b"x", b"y"),
        lambda: store.commit(transaction, StorePosition(0, 1, 1)),
        store.snapshot,
    ):
        with pytest.raises(ClosedStoreError, match="is closed"):
            read()
    opener(tmp_path / "shard").close()


def test_a_closed_store_can_be_opened_again_while_its_scans_wait(
    damaged: Path, opener: Opener
) -> None:
    store = opener(damaged)
    snapshot = store.snapshot()
    scans = [
        snapshot.scan(b"p", b"q"),
        snapshot.scan(b"p000100", b"q"),
        store.snapshot().scan(b"p", b"q"),
    ]
    for scan in scans:
        next(scan)
    store.close()
    opener(damaged).close()
    for scan in scans:
        with pytest.raises(ClosedStoreError, match="is closed"):
            next(scan)


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (Exception("IO error: No space left on device: While appending to file"), MachineError),
        (Exception("IO error: Too many open files: While open a file"), MachineError),
        (Exception("IO error: Disk quota exceeded: While appending to file"), MachineError),
        (Exception("IO error: Stale file handle: While open a file"), MachineError),
        (Exception("IO error: Read-only file system: While open a file"), MachineError),
        (Exception("something that RocksDB never said before"), ColdShardError),
        (DbClosedError("DB instance already closed"), ClosedStoreError),
    ],
)
def test_what_rocksdb_raises(raised: Exception, kind: type[Exception]) -> None:
    error = Faults(Path("/store")).typed(raised)
    assert type(error) is kind
    assert "/store" in str(error)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("IO error: Operation not permitted: while link file", "copied to /copy: IO error"),
        ("IO error: No space left on device: While appending", "free some room on that disk"),
        ("Corruption: block checksum mismatch", "is cold: Corruption"),
    ],
)
def test_a_copy_that_fails_says_nothing_of_the_store(text: str, reason: str) -> None:
    faults = Faults(Path("/store"))
    error = faults.of_copying(Exception(text), Path("/copy"))
    assert reason in str(error)
    assert isinstance(error, ColdShardError) is faults.is_cold is ("cold" in reason)


def test_mistakes_of_ours_dont_make_a_shard_cold(tmp_path: Path, opener: Opener) -> None:
    with opener(tmp_path / "shard") as store:
        with pytest.raises(IndexError):
            store.snapshot().get(b"")
        store.snapshot()


class ClosesFirst:
    """The lock of a store that another thread closes before it is taken so many times."""

    def __init__(self, store: Store, turns: int) -> None:
        self._store, self._turns, self._lock = store, turns, Lock()

    def __enter__(self) -> None:
        self._turns -= 1
        if not self._turns:
            self._store._families.close()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


@pytest.mark.parametrize("turns", [1, 2])
def test_a_store_that_is_closed_meanwhile_says_so(
    tmp_path: Path, opener: Opener, turns: int
) -> None:
    store = opener(tmp_path / "shard")
    store._lock = ClosesFirst(store, turns)  # type: ignore[assignment]
    with pytest.raises(ClosedStoreError, match="is closed"):
        store.checkpoint(tmp_path / "copy")
    with pytest.raises(ClosedStoreError, match="is closed"):
        store.flush()


def test_a_copy_to_nowhere_says_so_and_the_store_goes_on(tmp_path: Path, opener: Opener) -> None:
    with opener(tmp_path / "shard") as store:
        with pytest.raises(MachineError, match="can't be copied to"):
            store.checkpoint(tmp_path / "no" / "such" / "folder")
        store.commit(store.transaction(), StorePosition(0, 1, 1))


def test_a_store_whose_identity_can_not_be_read_is_let_go(
    tmp_path: Path, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    opener(tmp_path / "shard").close()
    with monkeypatch.context() as failing:
        failing.setattr("state.store.metadata.IDENTITY_KEY", object())
        with pytest.raises(Exception, match="raw mode"):
            opener(tmp_path / "shard")
    opener(tmp_path / "shard").close()
