"""Memory that was freed goes back to the system."""

import subprocess
import sys

import pytest

from processors import freed_memory

HOLES = """
import psutil
from processors.freed_memory import give_back_freed_memory

blocks = [bytes([1]) * 100_000 for _ in range(2_000)]
# What stands at the end of the heap keeps glibc from shortening it.
last = blocks[-1]
del blocks
before = psutil.Process().memory_info().rss
give_back_freed_memory()
print(before - psutil.Process().memory_info().rss)
"""
LARGE = """
import psutil
from processors.freed_memory import limit_freed_memory

limit_freed_memory()
largest = bytes([1]) * 24_000_000
del largest
before = psutil.Process().memory_info().rss
blocks = [bytes([1]) * 8_000_000 for _ in range(25)]
# What stands at the end of the heap keeps glibc from shortening it.
last = blocks[-1]
del blocks
print(before + 200_000_000 - psutil.Process().memory_info().rss)
"""
HEAPS = """
import ctypes
from threading import Barrier, Thread
from processors.freed_memory import limit_freed_memory

limit_freed_memory()
together = Barrier(8)
threads = [Thread(target=lambda: (bytes(100_000), together.wait())) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
ctypes.CDLL(None).malloc_stats()
"""
MOST_OF_IT = 150_000_000


def test_holes_in_the_heap_are_given_back() -> None:
    assert _bytes_given_back(HOLES) > MOST_OF_IT


def test_large_blocks_go_back_when_they_are_freed() -> None:
    assert _bytes_given_back(LARGE) > MOST_OF_IT


def test_threads_share_few_heaps() -> None:
    command = [sys.executable, "-c", HEAPS]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert told.count("Arena ") == 2


def _bytes_given_back(script: str) -> int:
    return int(subprocess.check_output([sys.executable, "-c", script], text=True))


def test_other_libraries_of_c_keep_what_they_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freed_memory, "_TRIM", None)
    monkeypatch.setattr(freed_memory, "_OPTION", None)
    freed_memory.give_back_freed_memory()
    freed_memory.limit_freed_memory()
