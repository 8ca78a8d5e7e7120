"""Constants and raw values of partitions in forms that compare like their meanings.

Dates and timestamps become texts of one width, which sort as they do. A value that databases might
read in more than one way is refused rather than guessed at.
"""

import re
from calendar import monthrange
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import Final

from hive.errors import FilterNotSupportedError
from hive.names import DEFAULT_PARTITION

_CACHED: Final = 65_536
"""The number of cached meanings: 100,000 partitions hold few dates, so each is read often."""

_NUMBER = re.compile(
    r"[ \t\n\r\v\f]*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)[ \t\n\r\v\f]*", re.ASCII
)
_DIGITS_MAX: Final = 21
"""The metastore casts to DECIMAL(21, 0)."""
_PLAIN_NUMBER = re.compile(rf"-?\d{{1,{_DIGITS_MAX}}}", re.ASCII)
_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_SHORT_DAY = re.compile(r"(\d{4})(\d\d)(\d\d)", re.ASCII)
_MOMENT = re.compile(
    rf"({_DAY.pattern})(?:[ T](\d{{1,2}}):(\d\d)(?::(\d\d)(?:\.(\d{{1,6}}))?)?)?", re.ASCII
)
_PLAIN_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?", re.ASCII)


def day(text: str) -> str | None:
    """A constant that is a calendar date, strictly `yyyy-mm-dd`."""
    return _canonical_day(text) if len(text) == len("yyyy-mm-dd") else None


def moment(text: str) -> str | None:
    """A constant that is a timestamp, strictly `yyyy-mm-dd hh:mm:ss`."""
    strict = len(text) == len("yyyy-mm-dd hh:mm:ss") and text[10] == " "
    return _canonical_moment(text) if strict and day(text[:10]) else None


def is_plain_integer(value: str) -> bool:
    """Whether a value is nothing but digits, after a minus at most."""
    return _PLAIN_NUMBER.fullmatch(value) is not None


@lru_cache(_CACHED)
def is_plain_date(value: str) -> bool:
    """Whether a value is a date, spelled as a constant must be."""
    return day(value) is not None


@lru_cache(_CACHED)
def is_plain_timestamp(value: str) -> bool:
    """Whether a value is a timestamp, spelled as a constant must be, or with a fraction."""
    return _PLAIN_MOMENT.fullmatch(value) is not None and _canonical_moment(value) is not None


@lru_cache(_CACHED)
def integer_of(value: str) -> int | None:
    """The number in a partition's value, rounded; None if it has none."""
    if is_plain_integer(value):
        return int(value)
    match = _NUMBER.fullmatch(value)
    number = Decimal(match[1]) if match else None
    if number is not None and number.adjusted() < _DIGITS_MAX:
        rounded = int(number.to_integral_value(ROUND_HALF_UP))
        if abs(rounded) < 10**_DIGITS_MAX:
            return rounded
    _check_no_value(value, "a whole number")
    return None


@lru_cache(_CACHED)
def date_of(value: str) -> str | None:
    """The date that a partition's value is or begins with; None if it has none."""
    short = _SHORT_DAY.fullmatch(value)
    moment_text = _canonical_moment(value if short is None else "-".join(short.groups()))
    if moment_text is None:
        _check_no_value(value, "a date")
        return None
    return moment_text[:10]


@lru_cache(_CACHED)
def timestamp_of(value: str) -> str | None:
    """The timestamp in a partition's value; None if it has none."""
    moment_text = _canonical_moment(value)
    if moment_text is None:
        _check_no_value(value, "a timestamp")
    return moment_text


def _check_no_value(value: str, what: str) -> None:
    if value == DEFAULT_PARTITION:
        return
    short = value if len(value) <= 60 else f"{value[:60]}…"
    raise FilterNotSupportedError(
        f"a partition has the value {short!r} where its key's type wants {what}: "
        "correct the partition, or leave that key out of the filter"
    )


def _canonical_day(text: str) -> str | None:
    match = _DAY.fullmatch(text)
    if not match:
        return None
    year, month, number = map(int, match.groups())
    if year < 1 or not 1 <= month <= 12 or not 1 <= number <= monthrange(year, month)[1]:
        return None
    return f"{year:04}-{month:02}-{number:02}"


def _canonical_moment(text: str) -> str | None:
    match = _MOMENT.fullmatch(text)
    date = _canonical_day(match[1]) if match else None
    if match is None or date is None:
        return None
    hour, minute, second = (int(part or 0) for part in match.group(5, 6, 7))
    if hour > 23 or minute > 59 or second > 59:
        return None
    return f"{date} {hour:02}:{minute:02}:{second:02}.{match[8] or '':0<6}"
