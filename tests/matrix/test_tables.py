"""The published tables of support say what the tests run."""

from pathlib import Path

import pytest

from tests.support.hive import matrix
from tests.support.hive.matrix import Row

_ROOT = Path(__file__).parents[2]


def cells(page: str) -> dict[Row, str]:
    """The first table whose lines are releases."""
    lines = (_ROOT / page).read_text().partition("| Hive metastore |")[2].splitlines()
    databases = [cell.strip() for cell in lines[0].split("|") if cell.strip()]
    cells: dict[Row, str] = {}
    for line in lines[2:]:
        if not line.startswith("|"):
            break
        release, *cells_of_release = (cell.strip() for cell in line.strip("|").split("|"))
        cells |= {
            Row(release, database): cell
            for database, cell in zip(databases, cells_of_release, strict=True)
        }
    return cells


@pytest.mark.parametrize(
    ("page", "followed", "refused", "often"),
    [
        ("README.md", "yes", "no", ""),
        ("docs/support.md", "yes", "refused", ", in every full test run"),
    ],
)
def test_a_page_tells_the_matrix(page: str, followed: str, refused: str, often: str) -> None:
    assert cells(page) == {
        row: (followed if row in matrix.FOLLOWED else refused)
        + (often if row in matrix.OFTEN else "")
        for row in matrix.ROWS
    }
