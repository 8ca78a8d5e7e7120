"""The files of an image, and what is remembered of them."""

from pathlib import Path

import pytest

from state.image import Images, repository
from state.store import Identity, MemoryBudget, Store, StorePosition
from state.store.families import SHARD_FAMILIES

BUDGET = MemoryBudget(32 << 20)
IDENTITY = Identity(format_version=1, topic_id="id", partitions=4, shard=2)


def test_few_files_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "HASHES_MAX", 1)
    images = Images(str(tmp_path / "images"), BUDGET)
    with Store(tmp_path / "store", IDENTITY, families=SHARD_FAMILIES, budget=BUDGET) as store:
        for offset in range(3):
            transaction = store.transaction()
            transaction.put(b"T%d" % offset, b"x")
            store.commit(transaction, StorePosition(0, offset, offset))
            store.flush()
        first, again = (images.create(store, tmp_path / "scratch") for _ in range(2))
    assert first.files == again.files
    assert len([each for each in first.files if each.name.endswith(".sst")]) > 1
    assert len(images._hashes) == 1


def test_folders_and_locks_are_no_part_of_an_image(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("LOCK", "CURRENT", "000007.sst"):
        (tmp_path / name).touch()
    assert [path.name for path in repository._files(tmp_path)] == ["000007.sst", "CURRENT"]
