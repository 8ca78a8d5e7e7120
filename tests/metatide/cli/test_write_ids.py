import subprocess
import sys

import pytest
from click.testing import CliRunner

from hive.errors import InputError
from hive.write_ids.lists import LONG_MAX
from metatide.cli import root


def compare(requested: str, cached: str) -> tuple[int, list[str]]:
    result = CliRunner().invoke(
        root, ["write-ids", "compare", requested, cached], catch_exceptions=False
    )
    return result.exit_code, result.output.splitlines()


@pytest.mark.parametrize(
    ("requested", "cached", "status", "lines"),
    [
        ("[12:7,8,12]", "[11:7,8]", 0, ["equal"]),
        ("d.t:8:9223372036854775807::", "D.T:8:9223372036854775807::6,7,8", 0, ["equal"]),
        ("[12:7,8,12]", "[12:7,12]", 1, ["newer", "only in the cached list: 8"]),
        ("[12:7,12]", "[12:7,8,12]", 1, ["behind", "only in the requested list: 8"]),
        (
            "[13:7,8,12]",
            "12:7:7,8",
            1,
            ["incomparable", "only in the requested list: 13", "only in the cached list: 12"],
        ),
        ("3$d.t:5:3:3:", "[5:3]", 0, ["equal"]),
        ("3$d.t:5:3:3:$d.u:9:1:1:", "d.t:5:3:3:", 0, ["equal"]),
        ("3$d.t:5:3:3:$d.u:9:1:1:", "4$d.v:5:3:3:$d.t:5:3:3:", 0, ["equal"]),
    ],
)
def test_the_answer(requested: str, cached: str, status: int, lines: list[str]) -> None:
    assert compare(requested, cached) == (status, lines)


def test_many_ids_are_cut_short() -> None:
    status, lines = compare("[0:]", "[9000000000000:]")
    shown = ", ".join(map(str, range(1, 21)))
    assert (status, lines) == (1, ["newer", f"only in the cached list: {shown}, …"])


def test_a_list_without_an_end_tells_nothing() -> None:
    status, lines = compare(f"d.t:{LONG_MAX}:{LONG_MAX}::", "d.t:5:5:5:")
    assert (status, lines[0]) == (1, "incomparable")
    assert "can't be compared" in lines[1]


@pytest.mark.parametrize(
    ("requested", "cached", "message"),
    [
        ("d.t:5:5:5:", "d.u:5:5:5:", "two lists of the same table"),
        ("3$d.t:5:3:3:$d.u:9:1:1:", "[5:3]", r"transaction 3 are of d\.t, d\.u"),
        ("3$", "[5:3]", "of no table"),
        ("d.t:5:x:5:", "[5:3]", "at character 6"),
    ],
)
def test_what_can_not_be_compared(requested: str, cached: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare(requested, cached)


def test_bad_input_is_one_line_and_status_two() -> None:
    arguments = [sys.executable, "-m", "metatide", "write-ids", "compare", "[5:3", "[5:3]"]
    result = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("metatide: bad write-id list at character 4 of '[5:3'")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("lists", [("[5:3", "[5:3]"), ("[5:3]", "sales.orders"), ("5:x", "[5:3]")])
def test_both_forms_of_a_list_are_named_where_one_is_wrong(lists: tuple[str, str]) -> None:
    with pytest.raises(InputError) as caught:
        compare(*lists)
    assert "as Hive prints it (sales.orders:12:7:7,12:8)" in str(caught.value)
    assert "in short, the high-water mark and the exceptions ([12:7,8,12])" in str(caught.value)
