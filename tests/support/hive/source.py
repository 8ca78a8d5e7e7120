"""Files of Hive's metastore as Apache publishes them, for tests that compare Metatide with them."""

import re
import tarfile
from functools import cache

import sqlalchemy as sa

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
    """Hive's own script that creates the schema of a release.

    Only the script's comments, its output, and the grants to a user that doesn't exist are left
    out.
    """
    text = read(f"metastore-server/src/main/sql/{dialect}/hive-schema-{release}.{dialect}.sql")
    lines = [
        line
        for line in text.splitlines()
        if line.strip() and not re.match(r"\s*(--|REVOKE |GRANT |SELECT ')", line)
    ]
    return "\n".join([*lines, ""])


def run_script(engine: sa.Engine, release: str) -> None:
    """Creates the schema of a release by Hive's own script, in an empty database."""
    text = script("mysql" if engine.dialect.name == "mysql" else "postgres", release)
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        for statement in re.split(r";\s*\n", text):
            if statement.strip():
                cursor.execute(statement)
        connection.commit()
    finally:
        connection.close()
