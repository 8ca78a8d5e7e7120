"""Files of Hive's metastore as its makers publish them, for tests that compare us with them."""

import tarfile
from functools import cache

from metatide.stack import jars


@cache
def read(path: str) -> str:
    """The text of a file below the metastore's source folder, as of release 4.0.1."""
    folder = jars.fetch("hive-source")
    (archive,) = folder.iterdir()
    with tarfile.open(archive) as tar:
        member = next(name for name in tar.getnames() if name.partition("/")[2] == path)
        stream = tar.extractfile(member)
        assert stream is not None, f"{path} is not a file"
        return stream.read().decode()


def script(dialect: str, release: str) -> str:
    """The script that creates the schema of a release; dialect is postgres or mysql."""
    return read(f"metastore-server/src/main/sql/{dialect}/hive-schema-{release}.{dialect}.sql")
