"""The images of all shards in one place."""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Event
from typing import Final
from uuid import uuid4

import structlog

from hive.errors import ColdShardError, ImageError, InputError, OtherImageError, OtherStoreError
from hive.urls import masked
from state import digest
from state.image import manifest as manifests
from state.image.manifest import File, Manifest
from state.image.storage import Storage, raise_if_stopped
from state.store import Identity, MemoryBudget, ReadOnlyStore, Store, StorePosition
from state.store.families import SHARD_FAMILIES

PIECE_BYTES: Final = 1 << 20
YOUNG_S: Final = 3600.0
"""A file that no manifest names and that isn't older may be of an image that is being made."""
HASHES_MAX: Final = 100_000
"""The most hashes of files that are kept, of all shards."""
_LEFT_OUT: Final = ("LOCK", "LOG")

Fits = Callable[[StorePosition], bool]
"""Tells whether the topic still has the records before a position."""

log = structlog.get_logger(__name__)


class Images:
    """The images in a directory, or at any URL that fsspec supports.

    1. A file is stored under its hash, so a file that two images share is uploaded and kept once.
    2. An image exists once its manifest does, and the manifest is put in place last, atomically.
    3. Whatever doesn't match its manifest is refused.
    """

    def __init__(self, url: str, budget: MemoryBudget) -> None:
        self._storage = Storage(url)
        self._budget = budget
        self._hashes: dict[tuple[int, int, int], str] = {}

    def require_place(self) -> None:
        """Raises an error if nothing is at the URL, as where its name is misspelt."""
        if not self._storage.is_there():
            raise InputError(
                f"there is nothing at {self._storage.url}: name the place that has images "
                "(--images), or make the first one (metatide image create)"
            )

    def create(self, store: Store, scratch: Path, *, digested: bool = True) -> Manifest:
        """Makes an image of an open store; `scratch` is a new folder on the store's disk.

        The digest reads the whole store; the rest of the work depends on how much is new.
        """
        try:
            position = store.checkpoint(scratch)
            manifest = Manifest(
                identity=store.identity,
                position=position,
                exact=self._digest(scratch, store.identity) if digested else "",
                made_s=time.time(),
                files=tuple(self._file(path) for path in _files(scratch)),
            )
            self._send(scratch, manifest)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return manifest

    def _digest(self, path: Path, identity: Identity) -> str:
        with ReadOnlyStore(path, identity, families=SHARD_FAMILIES, budget=self._budget) as copy:
            return digest.exact(copy.snapshot())

    def of(self, identity: Identity) -> list[Manifest]:
        """The images of a shard, the newest first; unusable ones are logged and left out."""
        return [manifest for _, manifest in self._own(identity)]

    def _own(self, identity: Identity) -> list[tuple[str, Manifest]]:
        """The images of a shard with the paths of their manifests, the newest first."""
        own = [
            (path, manifest)
            for path, manifest in self._listed(identity)
            if manifest is not None and manifest.identity == identity
        ]
        return sorted(own, key=lambda image: image[1].order, reverse=True)

    def _listed(self, identity: Identity) -> list[tuple[str, Manifest | None]]:
        """The images in the place of a shard, whose stores may have other formats; None stands for
        an image of which nothing is known because its manifest has another format."""
        listed: list[tuple[str, Manifest | None]] = []
        for path in self._storage.paths(self._manifests(identity)):
            try:
                listed.append((path, manifests.decode(self._storage.read(path), path)))
            except FileNotFoundError:
                # Somebody has pruned it since it was listed.
                continue
            except ImageError as error:
                log.warning("an image can't be used", error=str(error))
                if isinstance(error, OtherImageError):
                    listed.append((path, None))
        return listed

    def fitting(self, identity: Identity, fits: Fits) -> Iterator[Manifest]:
        """The images of a shard that fit its topic, the newest first."""
        for manifest in self.of(identity):
            if fits(manifest.position):
                yield manifest
            else:
                log.warning(
                    "an image has records that its topic has lost",
                    shard=identity.shard,
                    image=manifest.name,
                )

    def of_others(self, identity: Identity) -> list[Manifest]:
        """The images of a shard that other releases have made, whose stores have other formats."""
        others = []
        for path, manifest in self._listed(identity):
            if manifest is None:
                raise OtherImageError(
                    f"{masked(path)} is an image of another release, and what it needs isn't "
                    "known: use that release, or delete the file if it won't run again"
                )
            # Topics whose ids differ in a slash share a folder.
            if manifest.identity.topic_id == identity.topic_id and manifest.identity != identity:
                others.append(manifest)
        return others

    def restore(self, manifest: Manifest, path: Path, *, stop: Event | None = None) -> None:
        """Builds the store of an image; the path must not exist. Gives up and leaves nothing once
        `stop` is set."""
        assert not path.exists(), f"{path} is there already"
        path.mkdir(parents=True)
        try:
            for file in manifest.files:
                raise_if_stopped(stop)
                self._fetch(manifest, file, path / file.name, stop)
            self._check(manifest, path)
            raise_if_stopped(stop)
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise

    def restore_newest(
        self,
        identity: Identity,
        path: Path,
        *,
        fits: Fits = lambda _: True,
        stop: Event | None = None,
    ) -> Manifest | None:
        """Builds the newest usable image of a shard; None if there is none."""
        for manifest in self.fitting(identity, fits):
            try:
                self.restore(manifest, path, stop=stop)
            except ImageError as error:
                log.warning("an image can't be used", error=str(error))
                continue
            return manifest
        return None

    def prune(
        self,
        identity: Identity,
        keep: int,
        *,
        fits: Fits = lambda _: True,
        stop: Event | None = None,
    ) -> int:
        """Deletes the images of a shard before the newest ones that fit its topic; returns how many
        files went. Gives up between two files once `stop` is set.

        Others may make and prune images of the shard meanwhile. So only images of one listing go,
        and only files that were there before that of the images which stay. Images of other formats
        stay, too, since other releases need them: on a trimmed topic, nothing else tells the orders
        in what was deleted.
        """
        assert keep >= 1

        def is_old(path: str) -> bool:
            raise_if_stopped(stop)
            return self._is_old(path)

        fitting_count = 0
        for path, manifest in self._own(identity):
            raise_if_stopped(stop)
            if fitting_count == keep:
                self._storage.remove(path)
            elif fits(manifest.position):
                fitting_count += 1
        paths = self._storage.paths(self._folder(identity, "files"))
        old = [path for path in self._unneeded(identity, paths) if is_old(path)]
        # Ages take a request each: an image that came meanwhile may need one of these files.
        gone = self._unneeded(identity, old) if old else ()
        return sum(self._storage.remove(path) for path in gone if is_old(path))

    def _unneeded(self, identity: Identity, paths: Sequence[str]) -> list[str]:
        """Those of these files that no image needs; none while that can't be known."""
        needed = set[str]()
        for _, manifest in self._listed(identity):
            if manifest is None:
                return []
            needed |= {file.hash for file in manifest.files}
        return [path for path in paths if path.rpartition("/")[2] not in needed]

    def _send(self, scratch: Path, manifest: Manifest) -> None:
        self._storage.make_folder(self._folder(manifest.identity, "files"))
        self._storage.make_folder(self._manifests(manifest.identity))
        self._send_files(scratch, manifest)
        final = f"{self._manifests(manifest.identity)}/{manifest.name}"
        aside = f"{self._folder(manifest.identity, 'files')}/{uuid4().hex}.new"
        self._storage.write(aside, manifests.encode(manifest))
        self._storage.move(aside, final)
        # Somebody may have pruned a file that was there, because no image needed it until now.
        self._send_files(scratch, manifest)

    def _send_files(self, scratch: Path, manifest: Manifest) -> None:
        """Uploads the files that aren't there or were cut, as when a storage loses power, or that
        somebody who prunes may be about to delete: old ones of no image."""
        files = self._folder(manifest.identity, "files")
        sizes = self._storage.sizes(files)
        there = {path.rpartition("/")[2]: path for path in sizes}
        needed = {
            file.hash
            for _, listed in self._listed(manifest.identity)
            if listed is not None
            for file in listed.files
        }

        def is_safe(path: str, file: File) -> bool:
            is_whole = sizes[path] in (file.size, None)
            return is_whole and (file.hash in needed or not self._is_old(path))

        for file in manifest.files:
            path = there.get(file.hash)
            if path is None or not is_safe(path, file):
                self._storage.put(scratch / file.name, f"{files}/{file.hash}")

    def _fetch(self, manifest: Manifest, file: File, path: Path, stop: Event | None) -> None:
        source = f"{self._folder(manifest.identity, 'files')}/{file.hash}"
        try:
            self._storage.fetch(source, path, stop)
        except FileNotFoundError as error:
            raise ImageError(
                f"the image {manifest.name} of shard {manifest.identity.shard} lacks the file "
                f"{file.name} ({masked(source)}): use another one"
            ) from error
        if path.stat().st_size != file.size or _hash(path) != file.hash:
            raise ImageError(
                f"the image {manifest.name} of shard {manifest.identity.shard} is damaged in the "
                f"file {file.name} ({masked(source)}): use another one"
            )

    def _check(self, manifest: Manifest, path: Path) -> None:
        """Checks that the files make the store that the manifest describes."""
        try:
            with ReadOnlyStore(
                path, manifest.identity, families=SHARD_FAMILIES, budget=self._budget
            ) as store:
                if store.position != manifest.position:
                    raise ImageError(
                        f"the image {manifest.name} is at {store.position}, not at "
                        f"{manifest.position}: it was tampered with"
                    )
        except (ColdShardError, OtherStoreError) as error:
            raise ImageError(f"the image {manifest.name} makes no store: {error}") from error

    def _file(self, path: Path) -> File:
        stat = path.stat()
        # A checkpoint links files that never change, so a file is hashed once.
        key = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        hash_ = self._hashes.get(key)
        if hash_ is None:
            hash_ = _hash(path)
            if path.suffix == ".sst":
                if len(self._hashes) >= HASHES_MAX:
                    self._hashes.clear()
                self._hashes[key] = hash_
        return File(path.name, stat.st_size, hash_)

    def _folder(self, identity: Identity, name: str) -> str:
        # Topic ids are base64, which may hold a slash.
        topic = identity.topic_id.replace("/", "_")
        return f"{self._storage.root}/{topic}/{identity.shard}/{name}"

    def _manifests(self, identity: Identity) -> str:
        return self._folder(identity, "manifests")

    def _is_old(self, path: str) -> bool:
        """Whether no image that is being made waits for this file; False if it is gone."""
        try:
            return self._storage.age_s(path) > YOUNG_S
        except FileNotFoundError:
            return False


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.name.startswith(_LEFT_OUT):
            yield path


def _hash(path: Path) -> str:
    digest = blake2b(digest_size=32)
    with path.open("rb") as stream:
        while piece := stream.read(PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()
