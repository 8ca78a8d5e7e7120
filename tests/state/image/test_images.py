"""Images in a directory and in memory: made, restored, refused."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hive.errors import ColdShardError, ImageError, MetatideError, StoppedError
from state import digest
from state.image import Images, repository
from state.store import Identity, Store, StorePosition
from state.store.families import SHARD_FAMILIES
from tests.state.image.places import BUDGET, IDENTITY, Place, StoppingAfter, fold


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


def test_files_that_were_cut_are_sent_again(
    images: Images, place: Place, store: Store, tmp_path: Path
) -> None:
    """Otherwise no image of a store could be used any more, as long as it has one of them."""
    first = images.create(store, tmp_path / "scratch")
    for path, data in place.files().items():
        if "/files/" in path:
            place.library.pipe_file(path, data[:-1])
    fold(store, 501, 502)
    second = images.create(store, tmp_path / "scratch")
    assert {file.hash for file in first.files} & {file.hash for file in second.files}
    images.restore(second, tmp_path / "restored")


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


def test_a_place_that_nobody_knows_is_refused() -> None:
    with pytest.raises(MetatideError, match="nowhere"):
        Images("nowhere://x", BUDGET)


def test_a_failed_image_leaves_nothing(images: Images, store: Store, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "store")
    with pytest.raises(MetatideError):
        images.create(store, tmp_path / "scratch")
    assert not (tmp_path / "scratch").exists()


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
