"""What is done to the tests of a run before the first of them begins.

Those that use a broker or a database wait half of their time, the others compute. In the order of
folders, all runners wait at once, and compute at once later; so files of both kinds take turns.
"""

import gc
import math
from collections.abc import Generator, Iterable, Sequence
from itertools import groupby
from typing import Final, TypeVar

import pytest

_SERVERS: Final = frozenset({"kafka_broker", "postgres_server"})

_File = list[pytest.Item]
_Element = TypeVar("_Element")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leaves modules and tests, which live as long as the run, to no garbage collection: neither
    to those while they are made, nor to the thousands that tests bring about.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    files = [list(tests) for _, tests in groupby(items, lambda item: item.path)]
    # A long one that begins last has nothing to run beside it.
    files.sort(key=_length, reverse=True)
    waiting = [file for file in files if _waits(file)]
    computing = [file for file in files if not _waits(file)]
    items[:] = [item for file in take_turns(waiting, computing) for item in file]


def take_turns(*kinds: Sequence[_Element]) -> Iterable[_Element]:
    """Spreads the elements of each sequence evenly over all."""
    places = (
        ((index + 0.5) / len(elements), kind, index)
        for kind, elements in enumerate(kinds)
        for index in range(len(elements))
    )
    return (kinds[kind][index] for _, kind, index in sorted(places))


def _length(file: _File) -> tuple[float, int]:
    """Orders files by how long they may take: tests that take long say so by a limit of their own,
    of which 0 is none.
    """
    limits = [mark.args[0] or math.inf for item in file for mark in item.iter_markers("timeout")]
    return max(limits, default=0), len(file)


def _waits(file: _File) -> bool:
    return any(_SERVERS.intersection(getattr(item, "fixturenames", ())) for item in file)
