"""Our packages as an archive, for executors on machines where Metatide isn't installed.

The packages' dependencies (RocksDB, Kafka's client, drivers) must be installed there: see
docs/spark.md.
"""

from pathlib import Path
from zipfile import PyZipFile

import connectors
import hive
import metatide
import processors
import query_api
import state

_PACKAGES = (hive, state, connectors, processors, query_api, metatide)


def archive(path: Path) -> Path:
    """Writes the archive of the packages, compiled for this release of Python, which executors
    must have.
    """
    with PyZipFile(str(path), "w") as file:
        for package in _PACKAGES:
            assert package.__file__ is not None
            file.writepy(str(Path(package.__file__).parent))
    return path
