"""Room on an executor's disk."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch() -> Iterator[Path]:
    """A new folder where Spark keeps what is to go with the application, deleted at the end.

    So nothing is left of an executor that is killed: whoever cleans up after it, cleans this up.
    """
    place = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
    with tempfile.TemporaryDirectory(prefix="metatide-", dir=place) as name:
        yield Path(name)
