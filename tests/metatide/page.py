"""A stack whose metastore has tables that nobody has read, for the page to be used on."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import sqlalchemy as sa

from metatide.config import Config
from metatide.doctor import find_target
from tests.support.processes import open_folder
from tests.support.stacks import Stack, stack

HOSTILE = "<img src=x onerror=alert(1)>"
"""The name of one of the tables."""
_FILL = ("demo", "fill", "--tables", "32", "--partitions", "60", "--column-layouts", "8")
_RUN = ("demo", "run", "--events", "60", "--tables", "4", "--partitions", "8", "--writers", "1")


class Filled(NamedTuple):
    """A stack and what is in its database."""

    stack: Stack
    db: str
    tables: list[str]
    """Those of that database that no event tells of, and no read has asked for."""

    @property
    def worker(self) -> str:
        return self.stack.entry("worker-1").address


@contextmanager
def filled(*options: str, **environment: str) -> Iterator[Filled]:
    """`metatide up` with a catalog from before the first event, and a few events."""
    with open_folder() as parent, stack(parent / "data", *options, **environment) as running:
        metatide(running, *_FILL, **environment)
        metatide(running, *_RUN, **environment)
        with _database(running).connect() as connection:
            tables = connection.execute(sa.text(_TABLES)).all()
        yield Filled(running, tables[0][0], [table for _, table in tables])


def be_hostile(here: Filled) -> None:
    """Names and texts that try to be markup, in place of the first table's."""
    new = {"new": HOSTILE, "old": here.tables.pop(0)}
    with _database(here.stack).begin() as connection:
        connection.execute(
            sa.text('UPDATE "TBLS" SET "TBL_NAME" = :new WHERE "TBL_NAME" = :old'), new
        )
        connection.execute(sa.text('UPDATE "COLUMNS_V2" SET "COMMENT" = \'as <b>the source</b>\''))


def _database(running: Stack) -> sa.Engine:
    url = find_target(Config(data_dir=running.folder)).database_url
    assert url is not None
    return sa.create_engine(url, poolclass=sa.NullPool)


_TABLES = """
SELECT d."NAME", t."TBL_NAME" FROM "TBLS" t JOIN "DBS" d ON d."DB_ID" = t."DB_ID"
WHERE d."DB_ID" = (SELECT min("DB_ID") FROM "TBLS")
ORDER BY EXISTS (SELECT 1 FROM "PARTITIONS" p WHERE p."TBL_ID" = t."TBL_ID") DESC, t."TBL_NAME"
"""


def metatide(running: Stack, *arguments: str, **environment: str) -> None:
    """A command on the stack."""
    done = subprocess.run(
        [sys.executable, "-m", "metatide", *arguments],
        env={**os.environ, **environment, "METATIDE_DATA_DIR": str(running.folder)},
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
