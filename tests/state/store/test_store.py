"""What only the store in RocksDB does."""

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from hive.errors import ColdShardError, OtherStoreError
from state.kv import scan_prefix
from state.store import (
    Family,
    Identity,
    MemoryBudget,
    ReadOnlyStore,
    Store,
    StorePosition,
)
from tests.state.store.conftest import FAMILIES, IDENTITY, Opener

PATIENCE_S = 60.0


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (replace(IDENTITY, format_version=2), "its format is 1, but this version reads 2"),
        (replace(IDENTITY, topic_id="else"), "it is shard 2 of 4 of topic lake"),
        (replace(IDENTITY, partitions=8), "wanted is shard 2 of 8"),
        (replace(IDENTITY, shard=3), "wanted is shard 3 of 4"),
    ],
)
def test_another_store_is_refused_and_left_as_it_is(
    tmp_path: Path, opener: Opener, budget: MemoryBudget, other: Identity, words: str
) -> None:
    path = tmp_path / "shard"
    opener(path).close()
    for kind in (Store, ReadOnlyStore):
        with pytest.raises(OtherStoreError, match=words):
            kind(path, other, families=FAMILIES, budget=budget)
    opener(path).close()


def test_a_store_with_families_of_another_version_is_refused(
    tmp_path: Path, opener: Opener, budget: MemoryBudget
) -> None:
    opener(tmp_path / "shard").close()
    with pytest.raises(OtherStoreError, match="column families"):
        Store(tmp_path / "shard", IDENTITY, families=FAMILIES[:1], budget=budget)
    more = (*FAMILIES, Family(name="later", kinds=b"l"))
    with pytest.raises(ColdShardError, match="Column family not found"):
        Store(tmp_path / "shard", IDENTITY, families=more, budget=budget)


def test_a_checkpoint_is_the_state_at_its_position(
    tmp_path: Path, opener: Opener, budget: MemoryBudget
) -> None:
    copy = tmp_path / "elsewhere"
    with opener(tmp_path / "shard") as store:
        transaction = store.transaction()
        for key in (b"pa", b"sa", b"xa"):
            transaction.put(key, b"1")
        store.commit(transaction, StorePosition(1, 5, 9))
        assert store.checkpoint(copy) == StorePosition(1, 5, 9)
        transaction.delete_range(b"p", b"q")
        store.commit(transaction, StorePosition(1, 6, 10))
        for _ in range(2):
            with ReadOnlyStore(copy, IDENTITY, families=FAMILIES, budget=budget) as image:
                assert image.position == StorePosition(1, 5, 9)
                snapshot = image.snapshot()
                assert (snapshot.get(b"pa"), snapshot.get(b"pb")) == (b"1", None)
                assert list(snapshot.scan(b"s", b"t")) == [(b"sa", b"1")]
                assert snapshot.position == StorePosition(1, 5, 9)
    with opener(copy) as continued:
        assert continued.position == StorePosition(1, 5, 9)
        assert continued.snapshot().get(b"xa") == b"1"


def test_reading_where_nothing_is_makes_nothing(tmp_path: Path, budget: MemoryBudget) -> None:
    with pytest.raises(ColdShardError, match="no CURRENT file"):
        ReadOnlyStore(tmp_path / "none", IDENTITY, budget=budget)
    assert not (tmp_path / "none").exists()


def test_readers_see_whole_commits_while_a_writer_commits(tmp_path: Path, opener: Opener) -> None:
    """Every commit writes its number everywhere, and replaces a whole range."""
    commits = 400
    torn: list[object] = []
    read_commits = set()
    started = threading.Barrier(4)

    def read(store: Store) -> None:
        started.wait()
        last = -1
        while last < commits:
            snapshot = store.snapshot()
            position = snapshot.position
            number = b"%d" % position.applied
            values = {snapshot.get(b"pa") or b"0", snapshot.get(b"xa") or b"0"}
            values |= {value for _, value in snapshot.scan(b"s", b"t")}
            values |= {value for _, value in snapshot.scan(b"p", b"q")}
            if values - {number} or position.applied < last:
                torn.append((position, values))
            last = position.applied
            read_commits.add(last)

    with opener(tmp_path / "shard") as store:
        readers = [threading.Thread(target=read, args=(store,)) for _ in range(3)]
        for reader in readers:
            reader.start()
        started.wait()
        for number in range(1, commits + 1):
            transaction = store.transaction()
            transaction.delete_range(b"s", b"t")
            for key in (b"pa", b"s%d" % number, b"s%d" % (number + 1), b"xa"):
                transaction.put(key, b"%d" % number)
            store.commit(transaction, StorePosition(0, number, number))
            if number % 100 == 0:
                store.flush()
        for reader in readers:
            reader.join()
    assert torn == []
    assert commits in read_commits


CRASH = """
import os, sys
from pathlib import Path
from state.store import MemoryBudget, Store, StorePosition
from tests.state.store.conftest import FAMILIES, IDENTITY
store = Store(Path(sys.argv[1]), IDENTITY, families=FAMILIES, budget=MemoryBudget(8 << 20))
transaction = store.transaction()
for number in range(1, 101):
    for kind in (b"p", b"s", b"x"):
        transaction.put(kind + b"%03d" % number, os.urandom(int(sys.argv[2])))
    store.commit(transaction, StorePosition(0, number, number))
    if number in (30, 60):
        assert store.flush() == StorePosition(0, number, number)
os.kill(os.getpid(), 9)
"""


def crash(path: Path, value_bytes: int) -> None:
    program = [sys.executable, "-c", CRASH, str(path), str(value_bytes)]
    assert subprocess.run(program, check=False).returncode == -9


def check_whole(store: Store) -> None:
    """What is there are the commits up to the position, all of each and nothing more."""
    applied = range(1, store.position.applied + 1)
    snapshot = store.snapshot()
    for kind in (b"p", b"s", b"x"):
        keys = [key for key, _ in scan_prefix(snapshot, kind)]
        assert keys == [kind + b"%03d" % number for number in applied]


@pytest.mark.parametrize("value_bytes", [1, 40_000])
def test_a_killed_process_loses_whole_commits_and_none_that_was_flushed(
    tmp_path: Path, opener: Opener, value_bytes: int
) -> None:
    """With large values RocksDB flushes by itself, too, at moments of its own."""
    crash(tmp_path / "shard", value_bytes)
    with opener(tmp_path / "shard") as store:
        assert 60 <= store.position.applied < 100
        check_whole(store)


def test_a_manifest_cut_anywhere_never_tears_data_from_the_position(
    tmp_path: Path, opener: Opener
) -> None:
    crashed, path = tmp_path / "crashed", tmp_path / "shard"
    crash(crashed, 40_000)
    manifest = next(crashed.glob("MANIFEST-*"))
    positions, cold_count = set(), 0
    for length in [*range(0, manifest.stat().st_size, 40), manifest.stat().st_size]:
        shutil.copytree(crashed, path)
        os.truncate(path / manifest.name, length)
        try:
            with opener(path) as store:
                check_whole(store)
                positions.add(store.position.applied)
        except ColdShardError:
            cold_count += 1
        shutil.rmtree(path)
    assert len(positions) > 1
    assert cold_count > 1


FULL = """
import os, resource, sys
from pathlib import Path
from state.store import MemoryBudget, Store, StorePosition
from tests.state.store.conftest import FAMILIES, IDENTITY
store = Store(Path(sys.argv[1]), IDENTITY, families=FAMILIES, budget=MemoryBudget(8 << 20))
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
transaction = store.transaction()
transaction.put(b"x", os.urandom(1 << 19))
store.commit(transaction, StorePosition(0, 1, 1))
store.flush()
"""


def test_a_flush_that_fails_says_why(tmp_path: Path, opener: Opener) -> None:
    path = tmp_path / "shard"
    program = [sys.executable, "-c", FULL, str(path)]
    failed = subprocess.run(program, capture_output=True, text=True, check=False)
    assert "MachineError" in failed.stderr
    assert "ulimit -f" in failed.stderr
    with opener(path) as store:
        assert (store.position, store.snapshot().get(b"x")) == (StorePosition(), None)


def test_a_flush_empties_what_is_in_memory(tmp_path: Path, opener: Opener) -> None:
    with opener(tmp_path / "shard") as store:
        transaction = store.transaction()
        for key in (b"p", b"s", b"x"):
            transaction.put(key, bytes(1 << 19))
        store.commit(transaction, StorePosition(0, 1, 1))
        assert store.unflushed_bytes > 3 << 19
        store.flush()
        assert store.unflushed_bytes < 1 << 19


def sorted_bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in path.glob("*.sst"))


@pytest.mark.parametrize("kind", [b"p", b"s", b"x"])
def test_what_is_on_disk_is_compressed_in_every_family(
    tmp_path: Path, opener: Opener, kind: bytes
) -> None:
    count, value = 2000, b"the same words again and again, " * 30
    with opener(tmp_path / "shard") as store:
        transaction = store.transaction()
        for number in range(count):
            transaction.put(kind + b"%06d" % number, value)
        store.commit(transaction, StorePosition(0, 1, 1))
        store.flush()
        flushed = sorted_bytes(tmp_path / "shard")
        store.compact()
        compacted = sorted_bytes(tmp_path / "shard")
        algorithms = [b"ZSTD" in file.read_bytes() for file in (tmp_path / "shard").glob("*.sst")]
    assert flushed < count * len(value) / 8
    assert compacted < flushed
    assert all(algorithms)


@pytest.mark.parametrize("kind", [b"p", b"s", b"x"])
def test_deferred_compactions_are_made_once_they_arent_deferred(
    tmp_path: Path, opener: Opener, kind: bytes
) -> None:
    flushes, path = 10, tmp_path / "shard"

    def files() -> int:
        return len(list(path.glob("*.sst")))

    with opener(path) as store:
        store.defer_compactions(deferred=True)
        for offset in range(1, flushes + 1):
            transaction = store.transaction()
            # RocksDB moves files that don't overlap, rather than merge them.
            for key in (kind + b"a", kind + b"b"):
                transaction.put(key, b"%d" % offset)
            store.commit(transaction, StorePosition(0, offset, offset))
            store.flush()
        assert files() > flushes
        store.defer_compactions(deferred=False)
        end = time.monotonic() + PATIENCE_S
        while files() >= flushes:
            assert time.monotonic() < end, "nothing was compacted"
            time.sleep(0.01)
        assert store.snapshot().get(kind + b"a") == b"%d" % flushes


def test_all_stores_share_one_budget(tmp_path: Path) -> None:
    budget = MemoryBudget(16 * 1024 * 1024)
    stores = [
        Store(tmp_path / str(shard), replace(IDENTITY, shard=shard), budget=budget)
        for shard in range(4)
    ]
    value = bytes(range(256)) * 8
    for offset in range(1, 21):
        for store in stores:
            transaction = store.transaction()
            for number in range(500):
                transaction.put(b"p%06d" % (offset * 500 + number), value)
            store.commit(transaction, StorePosition(0, offset, offset))
            assert budget.cache.get_usage() <= 2 * budget.bytes_max
    for store in stores:
        assert sum(1 for _ in store.snapshot().scan(b"p", b"q")) == 20 * 500
        store.close()
    assert budget.cache.get_usage() <= budget.bytes_max
