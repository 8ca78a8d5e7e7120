"""Threads that are the first to write and to read objects of a struct, at the same time."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import pytest

from hive.thrift import tjson
from hive.thrift.binary import decode, encode
from hive.thrift.types import Struct, string

THREADS = 4
ROUNDS = 50
VALUE = {f"field_{number}": str(number) for number in range(1, 60)}


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def new_struct() -> Struct:
    """A struct that nobody has written or read."""
    return Struct("New", *((number, f"field_{number}", string) for number in range(1, 60)))


def at_once(action: Callable[[], Any]) -> list[Any]:
    """What the action gives in each of several threads."""
    barrier = Barrier(THREADS)

    def act() -> Any:
        barrier.wait()
        return action()

    with ThreadPoolExecutor(THREADS) as threads:
        return [made.result() for made in [threads.submit(act) for _ in range(THREADS)]]


def test_each_thread_writes_all_fields() -> None:
    expected = encode(new_struct(), VALUE)
    for _ in range(ROUNDS):
        assert at_once(partial(encode, new_struct(), VALUE)) == [expected] * THREADS


def test_each_thread_writes_all_fields_of_json() -> None:
    expected, text = encode(new_struct(), VALUE), tjson.dumps(new_struct(), VALUE)
    for _ in range(ROUNDS):
        written = at_once(partial(tjson.transcode, new_struct(), text))
        assert written == [expected] * THREADS


def test_each_thread_reads_all_fields() -> None:
    data = encode(new_struct(), VALUE)
    for _ in range(ROUNDS):
        assert at_once(partial(decode, new_struct(), data)) == [VALUE] * THREADS
