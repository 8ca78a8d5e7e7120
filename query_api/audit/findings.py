"""What an audit found, and what that implies about the rest of the catalog."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import log10
from typing import Any, Final

import msgspec

from query_api.positions import Position
from state.records import Scope

RULE_OF_THREE: Final = 3
"""If none of n random samples is wrong, less than 3/n of all are, with 95 % confidence."""
DIFFERENCES_MAX: Final = 100
"""The number of differences reported for one scope; further ones are only counted."""


class Field(msgspec.Struct, frozen=True):
    """A field that differs, by its path in Hive's Thrift; null where it isn't set."""

    field: str
    cache: Any
    database: Any


class ObjectDifference(msgspec.Struct, frozen=True):
    """An object that differs between cache and database."""

    object: str
    """The object within the scope: `table`, `partition ds=1`, `constraint pk`."""
    fields: list[Field]
    only_in: str | None = None
    """`cache` or `database`, if the other one has no such object."""
    silent: bool = False
    """The log doesn't record such changes, so readers get the object from the database."""


class AuditResult(msgspec.Struct, frozen=True):
    """What the comparison of one scope shows."""

    scope: Scope
    position: Position | None = None
    """The event as of which both sides were compared."""
    objects: int = 0
    """The number of objects compared."""
    wrong: int = 0
    """The number of objects that differ, not counting changes that the log doesn't record."""
    differences: list[ObjectDifference] = []
    left_out: dict[str, str] = {}
    """What couldn't be compared, and why. The cache doesn't answer it either."""


class Bound(msgspec.Struct, frozen=True):
    """An upper bound on the share of differences, from a sample of this size."""

    seen: int
    wrong: int
    wrong_at_most: float | None
    """The greatest plausible share that is wrong; null if any of the sample was."""
    nines: float | None
    """The same as a number of nines: 3 for 99.9 %."""


class Totals(msgspec.Struct, frozen=True):
    """The totals of an audit."""

    scopes: Bound
    """The bound for tables and lists of names. It is cautious: errors may cluster in a scope."""
    objects: Bound
    left_out: dict[str, int]
    """How many were left out for each reason."""


def totals(audited: Iterable[AuditResult]) -> Totals:
    """The totals of these findings."""
    compared = wrong = objects = wrong_objects = 0
    left_out = Counter[str]()
    for scope in audited:
        compared += scope.objects > 0
        wrong += scope.wrong > 0
        objects += scope.objects
        wrong_objects += scope.wrong
        left_out.update(scope.left_out.values())
    return Totals(bound(compared, wrong), bound(objects, wrong_objects), dict(left_out))


def bound(sample_size: int, wrong: int) -> Bound:
    """The upper bound by the rule of three."""
    if wrong or not sample_size:
        return Bound(sample_size, wrong, None, None)
    share = min(1.0, RULE_OF_THREE / sample_size)
    # The logarithm may give -0.0.
    return Bound(sample_size, wrong, share, max(0.0, round(-log10(share), 2)))


def differing(cache: Mapping[str, Any] | None, database: Mapping[str, Any] | None) -> list[Field]:
    """The fields that differ; all fields if one side has no object."""
    ours, theirs = dict(_flat(cache or {})), dict(_flat(database or {}))
    return [
        Field(path, ours.get(path), theirs.get(path))
        for path in dict.fromkeys((*ours, *theirs))
        if ours.get(path) != theirs.get(path)
    ]


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf with its path, such as `sd.cols.0.type`."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from _flat(item, f"{path}.{place}")
    elif isinstance(value, bytes):
        yield path, value.hex()
    else:
        yield path, value if isinstance(value, str | int | float | None) else str(value)
