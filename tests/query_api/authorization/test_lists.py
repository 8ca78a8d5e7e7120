"""Lists of who may see what: what they allow, and when they are read again."""

from pathlib import Path
from typing import NamedTuple

import pytest
from structlog.testing import capture_logs

from hive.errors import InputError
from query_api import watched_file
from query_api.authorization.areas import Area
from query_api.authorization.lists import LINES_MAX, Lists
from query_api.positions import Position

pytestmark = pytest.mark.anyio
NOW = Position(0, 1)
EVERYTHING, SALES = Area("hive"), Area("hive", "sales")
LISTS = Area("hive", "sales", is_list=True)
ORDERS, PAYROLL = Area("hive", "sales", "orders"), Area("hive", "hr", "payroll")
TEXT = """\
# who    what
ann      sales.orders  hr.pay*   # two patterns
bob      sales
root     *
ann      tmp
*        public
"""


class Named(NamedTuple):
    user: str
    key: str = ""

    async def may_read(self, area: Area) -> bool | None:
        raise AssertionError(f"the metastore is asked about {area}")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(watched_file, "LOOK_EVERY_S", 0.0)
    path = tmp_path / "lists"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize(
    ("user", "areas"),
    [
        ("ann", (ORDERS, PAYROLL)),
        ("bob", (SALES, LISTS, ORDERS)),
        ("root", (EVERYTHING, SALES, LISTS, ORDERS, PAYROLL)),
        ("eve", ()),
        ("Ann", ()),
        ("", ()),
    ],
)
async def test_a_user_who_is_not_in_it_sees_nothing(
    path: Path, user: str, areas: tuple[Area, ...]
) -> None:
    lists, reader = Lists(path), Named(user)
    for area in (EVERYTHING, SALES, LISTS, ORDERS, PAYROLL):
        assert await lists.may_see(reader, {area}, NOW) == (area in areas)
    assert await lists.may_see(reader, {ORDERS, PAYROLL}, NOW) == ({ORDERS, PAYROLL} <= {*areas})
    public = Area("hive", "public", "t")
    assert await lists.may_see(reader, {public}, NOW) == bool(user)


async def test_a_changed_file_counts_and_one_that_can_not_be_read_allows_nothing(
    path: Path,
) -> None:
    lists, ann = Lists(path), Named("ann")
    assert await lists.may_see(ann, {ORDERS}, NOW)
    path.write_text("bob sales\n")
    assert not await lists.may_see(ann, {ORDERS}, NOW)
    path.write_text(TEXT)
    assert await lists.may_see(ann, {ORDERS}, NOW)
    with capture_logs() as entries:
        path.write_text("ann sales.orders\neve a.b.c\n")
        assert not await lists.may_see(ann, {ORDERS}, NOW)
        path.unlink()
        assert not await lists.may_see(ann, {ORDERS}, NOW)
    assert [entry["log_level"] for entry in entries] == ["error", "error"]
    assert "line 2" in entries[0]["why"]
    path.write_text(TEXT)
    assert await lists.may_see(ann, {ORDERS}, NOW)


def test_a_file_that_can_not_be_read_at_the_start_is_an_error(path: Path) -> None:
    with pytest.raises(InputError, match="can't be read"):
        Lists(path.with_name("nothing"))
    path.write_text("ann f()\n")
    with pytest.raises(InputError, match="line 1: 'f\\(\\)' isn't a pattern"):
        Lists(path)
    path.write_text("#\n" * (LINES_MAX + 1))
    with pytest.raises(InputError, match=f"more than {LINES_MAX} lines"):
        Lists(path)
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match="can't be read"):
        Lists(path)
