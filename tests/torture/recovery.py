"""The table of recovery times, by fault.

python -m tests.torture.recovery FOLDER

Reads the journal of this folder and prints the table.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any

from tests.torture.journal import Journal


def table(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A row for each kind of fault."""
    yield "| fault | times | wrong answers | warm again, p50, s | p99, s |"
    yield "| --- | --- | --- | --- | --- |"
    for name in sorted({line["fault"] for line in lines}):
        own = [line for line in lines if line["fault"] == name]
        ordered = sorted(line["recovery_s"] for line in own if line["recovery_s"] is not None)
        p50, p99 = (
            f"{ordered[ceil(len(ordered) * share) - 1]:.1f}" if ordered else "never"
            for share in (0.5, 0.99)
        )
        wrong = sum(len(line["wrong"]) for line in own)
        yield f"| {name} | {len(own)} | {wrong} | {p50} | {p99} |"


def main() -> None:
    print("\n".join(table(Journal(Path(sys.argv[1])).faults())))


if __name__ == "__main__":
    main()
