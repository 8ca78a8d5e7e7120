"""Images in a directory and in memory: made, restored, refused, pruned."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import fsspec
import pytest

from hive.errors import ColdShardError, ImageError, MetatideError, StoppedError
from hive.names import TableName
from processors.fold import Fold
from state import digest
from state.image import Images, Manifest, repository
from state.image.storage import Storage
from state.records import Change
from state.records.actions import CreateTable, PutPartitions
from state.records.objects import PartitionImage, TableImage
from state.store import Identity, MemoryBudget, Store, StorePosition
from state.store.families import SHARD_FAMILIES

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


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store", IDENTITY, families=SHARD_FAMILIES, budget=BUDGET) as store:
        fold(store, 1, 500)
        yield store


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


@pytest.fixture(params=["directory", "object store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "directory":
        yield Place(str(tmp_path / "images"))
    else:
        yield Place("memory://images")
        fsspec.filesystem("memory").store.clear()


@pytest.fixture
def images(place: Place) -> Images:
    return Images(place.url, BUDGET)


def exact(path: Path) -> tuple[str, StorePosition]:
    with Store(path, IDENTITY, families=SHARD_FAMILIES, budget=BUDGET) as store:
        return digest.exact(store.snapshot()), store.position


def test_what_is_restored_is_what_was_there(images: Images, store: Store, tmp_path: Path) -> None:
    manifest = images.create(store, tmp_path / "scratch")
    before = digest.exact(store.snapshot())
    fold(store, 501, 600)
    assert not (tmp_path / "scratch").exists()
    assert images.restore_newest(IDENTITY, tmp_path / "restored") == manifest
    assert exact(tmp_path / "restored") == (before, StorePosition(0, 500, 500))
    assert manifest.exact == before


def test_the_newest_counts(images: Images, store: Store, tmp_path: Path) -> None:
    for last in (600, 700):
        images.create(store, tmp_path / "scratch")
        fold(store, last - 99, last)
    newest = images.create(store, tmp_path / "scratch")
    assert [one.position.offset for one in images.of(IDENTITY)] == [700, 600, 500]
    assert images.restore_newest(IDENTITY, tmp_path / "restored") == newest


def test_the_newest_counts_though_its_epoch_is_lower(
    images: Images, store: Store, tmp_path: Path
) -> None:
    """Forged records had raised the epoch, and the shard returned to that of the connectors."""
    for last, epoch in ((600, 2_000_000), (700, 1)):
        fold(store, last - 99, last, epoch)
        newest = images.create(store, tmp_path / "scratch")
    images.prune(IDENTITY, 1)
    assert images.of(IDENTITY) == [newest]


def test_one_that_does_not_fit_its_topic_is_left_out(
    images: Images, store: Store, tmp_path: Path
) -> None:
    older = images.create(store, tmp_path / "scratch")
    fold(store, 501, 600)
    newer = images.create(store, tmp_path / "scratch")

    def fits(position: StorePosition) -> bool:
        return position != newer.position

    assert images.restore_newest(IDENTITY, tmp_path / "restored", fits=fits) == older
    assert [*images.fitting(IDENTITY, fits)] == [older]


def test_images_that_do_not_fit_the_topic_push_none_out(
    images: Images, store: Store, tmp_path: Path
) -> None:
    """They are furthest in a topic that has lost its end, until it has grown beyond them."""
    for last in (600, 700, 800, 900):
        images.create(store, tmp_path / "scratch")
        fold(store, last - 99, last)
    images.create(store, tmp_path / "scratch")

    def pruned(keep: int, lost: set[int]) -> list[int]:
        images.prune(IDENTITY, keep, fits=lambda position: position.offset not in lost)
        return [manifest.position.offset for manifest in images.of(IDENTITY)]

    assert pruned(2, {900, 800, 700, 600, 500}) == [900, 800, 700, 600, 500]
    assert pruned(2, {900, 800}) == [900, 800, 700, 600]
    assert pruned(1, {800}) == [900]


def test_files_that_are_there_are_not_sent_again(
    place: Place, images: Images, store: Store, tmp_path: Path
) -> None:
    first = images.create(store, tmp_path / "scratch")
    fold(store, 501, 510)
    second = images.create(store, tmp_path / "scratch")
    tables = [
        {one.hash for one in manifest.files if one.name.endswith(".sst")}
        for manifest in (first, second)
    ]
    assert tables[0] & tables[1]
    stored = [path for path in place.files() if "/files/" in path]
    assert len(stored) == len({one.hash for one in (*first.files, *second.files)})


def test_there_may_be_none(images: Images, tmp_path: Path) -> None:
    assert images.of(IDENTITY) == []
    assert images.restore_newest(IDENTITY, tmp_path / "restored") is None
    assert images.prune(IDENTITY, 1) == 0


def test_other_topics_have_others(images: Images, store: Store, tmp_path: Path) -> None:
    images.create(store, tmp_path / "scratch")
    other = Identity(format_version=1, topic_id="a_b+c==", partitions=4, shard=2)
    assert images.of(other) == []
    assert images.restore_newest(other, tmp_path / "restored") is None


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flip(data: bytes) -> bytes:
    at = len(data) // 2
    return data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :]


@pytest.mark.parametrize("harm", [cut, flip, None], ids=["cut", "flipped", "deleted"])
def test_a_damaged_file_is_refused_whichever_it_is(
    place: Place,
    images: Images,
    store: Store,
    tmp_path: Path,
    harm: Callable[[bytes], bytes] | None,
) -> None:
    manifest = images.create(store, tmp_path / "scratch")
    for path, data in place.files().items():
        if "/files/" not in path or not data:
            continue
        if harm is None:
            place.library.rm_file(path)
        else:
            place.library.pipe_file(path, harm(data))
        with pytest.raises(ImageError):
            images.restore(manifest, tmp_path / "restored")
        assert not (tmp_path / "restored").exists()
        place.library.pipe_file(path, data)
    images.restore(manifest, tmp_path / "restored")


def test_a_torn_manifest_is_no_image_and_an_older_one_is_taken(
    place: Place, images: Images, store: Store, tmp_path: Path
) -> None:
    older = images.create(store, tmp_path / "scratch")
    fold(store, 501, 510)
    newer = images.create(store, tmp_path / "scratch")
    place.rewrite(newer, cut)
    assert images.of(IDENTITY) == [older]
    assert images.restore_newest(IDENTITY, tmp_path / "restored") == older


def test_a_manifest_that_tells_another_position_is_refused(
    place: Place, images: Images, store: Store, tmp_path: Path
) -> None:
    manifest = images.create(store, tmp_path / "scratch")
    place.rewrite(manifest, lambda data: data.replace(b"500", b"499"))
    assert images.restore_newest(IDENTITY, tmp_path / "restored") is None


def test_a_manifest_cannot_name_a_place_elsewhere(
    place: Place, images: Images, store: Store, tmp_path: Path
) -> None:
    manifest = images.create(store, tmp_path / "scratch")
    place.rewrite(manifest, lambda data: data.replace(b'"CURRENT"', b'"../CURRENT"'))
    assert images.of(IDENTITY) == []


def test_without_a_manifest_there_is_no_image(
    place: Place, images: Images, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upload that is cut off at any file leaves the images as they were."""
    older = images.create(store, tmp_path / "scratch")
    fold(store, 501, 2000)
    mv = place.library.mv
    left = 0

    def stop(*arguments: str) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError("the network is gone")
        mv(*arguments)

    monkeypatch.setattr(place.library, "mv", stop)
    for allowed in (0, 1, 0):
        left = allowed
        with pytest.raises(OSError, match="the network is gone"):
            images.create(store, tmp_path / "scratch")
        assert images.of(IDENTITY) == [older]
    left = 1000
    images.create(store, tmp_path / "scratch")
    assert len(images.of(IDENTITY)) == 2


def test_pruning_keeps_what_the_kept_need(
    place: Place, images: Images, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for last in (600, 700, 800):
        images.create(store, tmp_path / "scratch")
        store.compact()
        fold(store, last - 99, last)
    newest = images.create(store, tmp_path / "scratch")
    count = len(place.files())
    assert images.prune(IDENTITY, 4) == 0
    assert images.prune(IDENTITY, 1) == 0, "young files may belong to an image that is being made"
    assert images.of(IDENTITY) == [newest]
    monkeypatch.setattr(repository, "YOUNG_S", -1.0)
    assert images.prune(IDENTITY, 1) > 0
    assert len(place.files()) == len({one.hash for one in newest.files}) + 1 < count
    assert images.restore_newest(IDENTITY, tmp_path / "restored") == newest


def test_images_of_another_format_of_stores_stay_with_their_files(
    images: Images, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that comes or goes would have nothing to begin from on a trimmed topic."""
    monkeypatch.setattr(repository, "YOUNG_S", -1.0)
    other = Identity(format_version=2, topic_id="a/b+c==", partitions=4, shard=2)
    with Store(tmp_path / "other", other, families=SHARD_FAMILIES, budget=BUDGET) as other_store:
        fold(other_store, 1, 600)
        manifest = images.create(other_store, tmp_path / "scratch")
    for last in (600, 700):
        images.create(store, tmp_path / "scratch")
        fold(store, last - 99, last)
    newest = images.create(store, tmp_path / "scratch")
    images.prune(IDENTITY, 1)
    assert images.of(IDENTITY) == [newest]
    assert images.of(other) == [manifest]
    images.restore(manifest, tmp_path / "restored")


def test_what_an_image_of_another_format_needs_stays(
    place: Place, images: Images, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which files these are, its own release knows alone."""
    monkeypatch.setattr(repository, "YOUNG_S", -1.0)
    images.create(store, tmp_path / "scratch")
    path = place.manifest()
    place.library.pipe_file(path.replace("500", "499"), b'{"format": 2, "parts": []}')
    place.library.rm_file(path)
    before = place.files()
    assert images.prune(IDENTITY, 1) == 0
    assert place.files() == before
    fold(store, 501, 600)
    newest = images.create(store, tmp_path / "scratch")
    assert images.of(IDENTITY) == [newest]
    assert images.prune(IDENTITY, 1) == 0
    assert before.keys() < place.files().keys()


@pytest.fixture
def others(place: Place) -> Images:
    """Another maker at the same place."""
    return Images(place.url, BUDGET)


def test_an_image_that_comes_while_others_are_pruned_stays(
    images: Images, others: Images, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images.create(store, tmp_path / "scratch")
    fold(store, 501, 600)
    list_paths = Storage.paths

    def listed(storage: Storage, folder: str) -> list[str]:
        paths = list_paths(storage, folder)
        monkeypatch.setattr(Storage, "paths", list_paths)
        others.create(store, tmp_path / "scratch")
        return paths

    monkeypatch.setattr(Storage, "paths", listed)
    monkeypatch.setattr(repository, "YOUNG_S", -1.0)
    images.prune(IDENTITY, 1)
    assert [manifest.position.offset for manifest in others.of(IDENTITY)] == [600, 500]
    assert others.restore_newest(IDENTITY, tmp_path / "restored") == others.of(IDENTITY)[0]


def test_a_file_that_is_pruned_while_an_image_is_made_is_sent_again(
    place: Place,
    images: Images,
    others: Images,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    images.create(store, tmp_path / "scratch")
    path = place.manifest()
    place.library.rm_file(path)
    put = Storage.put

    def pruned(storage: Storage, file: Path, final: str) -> None:
        monkeypatch.setattr(Storage, "put", put)
        with monkeypatch.context() as later:
            later.setattr(repository, "YOUNG_S", -1.0)
            assert others.prune(IDENTITY, 1)
        put(storage, file, final)

    fold(store, 501, 600)
    monkeypatch.setattr(Storage, "put", pruned)
    manifest = images.create(store, tmp_path / "scratch")
    images.restore(manifest, tmp_path / "restored")


def test_an_image_that_is_made_while_others_prune_keeps_its_files(
    place: Place,
    images: Images,
    others: Images,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    images.create(store, tmp_path / "scratch")
    path = place.manifest()
    place.library.rm_file(path)
    old = set(place.files())
    put, list_all = Storage.put, others._listed

    def put_anew(storage: Storage, local: Path, final: str) -> None:
        put(storage, local, final)
        old.discard(final)

    def listed(identity: Identity) -> list[tuple[str, Manifest | None]]:
        before = list_all(identity)
        images.create(store, tmp_path / "scratch")
        return before

    monkeypatch.setattr(Storage, "put", put_anew)
    monkeypatch.setattr(Storage, "age_s", lambda _, path: 1e9 if path in old else 0.0)
    monkeypatch.setattr(others, "_own", lambda _: [])
    monkeypatch.setattr(others, "_listed", listed)
    others.prune(IDENTITY, 1)
    assert images.restore_newest(IDENTITY, tmp_path / "restored") is not None


def test_an_image_that_comes_while_ages_are_asked_for_keeps_its_files(
    place: Place,
    images: Images,
    others: Images,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its maker has found the files there, in use by an image that is gone by now."""
    manifest = images.create(store, tmp_path / "scratch")
    path = place.manifest()
    data = place.library.cat_file(path)
    place.library.rm_file(path)

    def age_s(storage: Storage, file: str) -> float:
        storage.write(path, data)
        return 1e9

    monkeypatch.setattr(Storage, "age_s", age_s)
    assert others.prune(IDENTITY, 1) == 0
    images.restore(manifest, tmp_path / "restored")


@pytest.mark.parametrize("step", ["cat_file", "rm_file", "modified"])
def test_two_may_prune_at_once(
    place: Place,
    images: Images,
    others: Images,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    """What the one has listed, the other deletes before this step."""
    for last in (600, 700, 800):
        images.create(store, tmp_path / "scratch")
        store.compact()
        fold(store, last - 99, last)
    newest = images.create(store, tmp_path / "scratch")
    monkeypatch.setattr(repository, "YOUNG_S", -1.0)
    plain = getattr(place.library, step)

    def late(path: str) -> Any:
        monkeypatch.setattr(place.library, step, plain)
        assert others.prune(IDENTITY, 1)
        return plain(path)

    monkeypatch.setattr(place.library, step, late)
    images.prune(IDENTITY, 2)
    assert images.of(IDENTITY) == [newest]


def test_a_place_that_nobody_knows_is_refused() -> None:
    with pytest.raises(MetatideError, match="nowhere"):
        Images("nowhere://x", BUDGET)


def test_a_failed_image_leaves_nothing(images: Images, store: Store, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "store")
    with pytest.raises(MetatideError):
        images.create(store, tmp_path / "scratch")
    assert not (tmp_path / "scratch").exists()


class StoppingAfter(Event):
    """Is set once it was looked at a number of times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.left = looks

    def is_set(self) -> bool:
        self.left -= 1
        return self.left < 0


def test_an_image_that_nobody_waits_for_is_given_up(
    images: Images, store: Store, tmp_path: Path
) -> None:
    manifest = images.create(store, tmp_path / "scratch")
    never = StoppingAfter(1_000)
    images.restore(manifest, tmp_path / "restored", stop=never)
    looks = 1_000 - never.left
    assert looks > len(manifest.files), "before each file, within it, and at the end"
    for after in range(looks):
        with pytest.raises(StoppedError):
            images.restore_newest(IDENTITY, tmp_path / "stopped", stop=StoppingAfter(after))
        assert not (tmp_path / "stopped").exists()


def test_pruning_ends_between_two_deletions_when_nobody_waits_for_it(
    place: Place, images: Images, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for last in (600, 700):
        images.create(store, tmp_path / "scratch")
        store.compact()
        fold(store, last - 99, last)
    newest = images.create(store, tmp_path / "scratch")
    monkeypatch.setattr(repository, "YOUNG_S", -1.0)
    count = len(place.files())
    for after in range(4):
        with pytest.raises(StoppedError):
            images.prune(IDENTITY, 1, stop=StoppingAfter(after))
        assert count - len(place.files()) <= after
        count = len(place.files())
    images.prune(IDENTITY, 1, stop=Event())
    assert images.of(IDENTITY) == [newest]


def test_files_that_make_no_store_are_no_image(
    images: Images, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = images.create(store, tmp_path / "scratch")

    def fail(path: Path, *_: Any, **__: Any) -> None:
        raise ColdShardError(f"{path} is cold")

    with monkeypatch.context() as failing:
        failing.setattr(repository, "ReadOnlyStore", fail)
        with pytest.raises(ImageError, match=f"{manifest.name} makes no store: .* is cold"):
            images.restore(manifest, tmp_path / "restored")
        assert images.restore_newest(IDENTITY, tmp_path / "restored") is None
    assert images.restore_newest(IDENTITY, tmp_path / "restored") == manifest
