"""The storage of images: a directory, or an object store by way of fsspec."""

import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from threading import Event
from typing import Any, Concatenate, ParamSpec, TypeVar
from uuid import uuid4

import fsspec
from fsspec.callbacks import Callback

from hive.errors import ImageError, StoppedError, StorageError
from hive.urls import masked

P = ParamSpec("P")
T = TypeVar("T")


def _with_one_error(
    operation: Callable[Concatenate["Storage", P], T],
) -> Callable[Concatenate["Storage", P], T]:
    """Makes each library's own errors one kind, but for files that aren't there: those of an object
    store that doesn't answer, or refuses something, are seldom an OSError, as they are of a
    disk."""

    @wraps(operation)
    def checked(storage: "Storage", /, *arguments: P.args, **options: P.kwargs) -> T:
        try:
            return operation(storage, *arguments, **options)
        except (FileNotFoundError, StoppedError):
            raise
        except Exception as error:
            kind = "" if isinstance(error, OSError) else f"{type(error).__name__}: "
            raise StorageError(
                masked(f"the images at {storage.url} can't be read or written: {kind}{error}")
            ) from error

    return checked


def raise_if_stopped(stop: Event | None) -> None:
    """Gives up what is under way if nobody waits for it any more."""
    if stop is not None and stop.is_set():
        raise StoppedError("nobody waits for this work on images any more")


class _Pieces(Callback):  # type: ignore[misc]
    """Is called after each piece of a file."""

    def __init__(self, stop: Event | None) -> None:
        super().__init__()
        self._stop = stop

    def relative_update(self, inc: int = 1) -> None:
        raise_if_stopped(self._stop)
        super().relative_update(inc)


class Storage:
    """The files below a URL. A fault is a StorageError, whatever is behind the URL."""

    def __init__(self, url: str) -> None:
        try:
            self._fs, self.root = fsspec.core.url_to_fs(url)
        except Exception as error:
            raise ImageError(f"images can't be stored at {masked(f'{url}: {error}')}") from error
        self.url = masked(url)

    @property
    def _current(self) -> Any:
        """The library without the listings that it remembers: others change what is there."""
        # Not each library heeds the options `refresh` and `use_listings_cache`, or takes them.
        self._fs.invalidate_cache()
        return self._fs

    @_with_one_error
    def is_there(self) -> bool:
        """Whether there is a folder, or in an object store any file below it."""
        # The libraries' own `exists` takes every fault for a no.
        try:
            self._current.ls(self.root, detail=False)
        except FileNotFoundError:
            return False
        return True

    @_with_one_error
    def paths(self, folder: str) -> list[str]:
        """The files in a folder; none if it isn't there."""
        return self._list(folder, detail=False)

    @_with_one_error
    def sizes(self, folder: str) -> dict[str, int | None]:
        """The files in a folder with their bytes, as far as the library tells them."""
        return {file["name"]: file.get("size") for file in self._list(folder, detail=True)}

    def _list(self, folder: str, *, detail: bool) -> list[Any]:
        try:
            files: list[Any] = self._current.ls(folder, detail=detail)
        except FileNotFoundError:
            return []
        return files

    @_with_one_error
    def make_folder(self, folder: str) -> None:
        self._fs.makedirs(folder, exist_ok=True)

    @_with_one_error
    def read(self, path: str) -> bytes:
        data: bytes = self._fs.cat_file(path)
        return data

    @_with_one_error
    def write(self, path: str, data: bytes) -> None:
        self._fs.pipe_file(path, data)

    @_with_one_error
    def move(self, path: str, final: str) -> None:
        self._fs.mv(path, final)

    @_with_one_error
    def put(self, local: Path, final: str) -> None:
        """Uploads a file under another name and renames it, so that a partial one never stands
        under its own."""
        aside = f"{final}.{uuid4().hex}.new"
        self._fs.put_file(str(local), aside)
        self._fs.mv(aside, final)

    @_with_one_error
    def fetch(self, path: str, local: Path, stop: Event | None = None) -> None:
        """Downloads a file; gives up between two pieces once `stop` is set."""
        self._fs.get_file(path, str(local), callback=_Pieces(stop))

    @_with_one_error
    def remove(self, path: str) -> bool:
        """Deletes a file; False if somebody else has."""
        try:
            self._fs.rm_file(path)
        except FileNotFoundError:
            return False
        return True

    @_with_one_error
    def age_s(self, path: str) -> float:
        modified: Any = self._current.modified(path)
        return time.time() - float(modified.timestamp())
