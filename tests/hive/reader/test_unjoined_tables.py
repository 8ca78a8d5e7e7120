"""A statement that would multiply rows isn't run, whatever a process does with warnings."""

import subprocess
import sys
from typing import Final

PROGRAM: Final = """
import sqlalchemy as sa
import hive.reader.engines
from hive.schema import Version, metadata

tables = metadata(Version.V4_1).tables
with sa.create_engine("sqlite://").connect() as connection:
    connection.execute(sa.select(tables["DBS"].c.NAME, tables["TBLS"].c.TBL_NAME))
"""


def test_tables_that_are_not_joined_are_an_error() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert "SAWarning: SELECT statement has a cartesian product" in done.stderr.splitlines()[-1]
    assert done.returncode != 0
