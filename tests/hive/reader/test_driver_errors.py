import pytest
from sqlalchemy.exc import InvalidRequestError, OperationalError

from hive.errors import SourceError
from hive.reader.driver_errors import driver_reason


class WordlessError(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OperationalError("SELECT 1", {}, ValueError("\nno route\nto the host")), "no route"),
        (OperationalError("SELECT 1", {}, WordlessError(" \n")), "WordlessError"),
        (InvalidRequestError("it is closed\nby us"), "it is closed"),
        (InvalidRequestError(""), "InvalidRequestError"),
        (SourceError("it can't be read\nnow"), "it can't be read"),
    ],
)
def test_a_reason_is_one_line_even_of_an_error_without_a_message(
    error: Exception, reason: str
) -> None:
    assert driver_reason(error) == reason
