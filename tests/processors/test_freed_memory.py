"""Memory that was freed goes back to the system."""

import subprocess
import sys

SCRIPT = """
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
MOST_OF_IT = 150_000_000


def test_holes_in_the_heap_are_given_back() -> None:
    output = subprocess.check_output([sys.executable, "-c", SCRIPT], text=True)
    assert int(output) > MOST_OF_IT
