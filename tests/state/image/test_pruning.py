"""Old images and files are deleted, while others make images or delete, too."""

from pathlib import Path
from threading import Event
from typing import Any

import pytest

from hive.errors import StoppedError
from state.image import Images, Manifest, repository
from state.image.storage import Storage
from state.store import Identity, Store
from state.store.families import SHARD_FAMILIES
from tests.state.image.places import BUDGET, IDENTITY, Place, StoppingAfter, fold


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
