"""Temporary folders on an executor's disk."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch() -> Iterator[Path]:
    """A new folder inside Spark's own temporary folder, deleted when the block ends.

    If the executor is killed, whatever cleans up after Spark deletes it.
    """
    place = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
    with tempfile.TemporaryDirectory(prefix="metatide-", dir=place) as name:
        yield Path(name)
