"""An object store that doesn't answer, of a library that has errors of its own kind."""

from typing import Any

import fsspec
from fsspec import AbstractFileSystem

URL = "silent://user:password@bucket/images"


class SilentStorageError(Exception):
    """As botocore's EndpointConnectionError, no OSError."""


def _fail(*_: Any, **__: Any) -> Any:
    raise SilentStorageError("nothing answers at https://user:password@storage")


class SilentStorage(AbstractFileSystem):  # type: ignore[misc]
    protocol = "silent"
    ls = makedirs = cat_file = pipe_file = mv = put_file = get_file = rm_file = modified = _fail


fsspec.register_implementation("silent", SilentStorage)
