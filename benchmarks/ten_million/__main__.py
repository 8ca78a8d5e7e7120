"""A very large catalog from its database to the answers of a worker, piece by piece.

Each piece takes at most 10 minutes and prints one line of JSON: its figures, a raw baseline beside
them where there is one, and memory and processor time of every process. What pieces leave is kept
in a folder; a finished piece isn't run again, one that was interrupted goes on.

python -m benchmarks.ten_million --folder F [--partitions N] [PIECE …]
python -m benchmarks.ten_million --compare F [F …]
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any, Final

from benchmarks.report import print_line
from benchmarks.ten_million import growth
from benchmarks.ten_million.catalog import Catalog
from benchmarks.ten_million.pieces import PIECES
from benchmarks.ten_million.stand import standing
from benchmarks.ten_million.watch import watched

PARTITIONS: Final = 10_000_000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="For everything that is kept between pieces.")
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    parser.add_argument("--compare", type=Path, nargs="+", metavar="F", help="Compare sizes.")
    parser.add_argument("pieces", nargs="*", metavar="PIECE", help=f"All: {', '.join(PIECES)}.")
    arguments = parser.parse_args()
    if arguments.compare:
        if len(arguments.compare) < 2:
            parser.error("compare two folders or more")
        print(growth.table([growth.figures_of(folder) for folder in arguments.compare]))
        return
    if arguments.folder is None or not set(arguments.pieces) <= set(PIECES):
        parser.error("give a --folder, and none but these pieces")
    run(arguments.folder.absolute(), arguments.partitions, arguments.pieces or list(PIECES))


def run(folder: Path, partitions: int, pieces: list[str]) -> None:
    # Installed packages have their bytecode, too.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    finished = growth.figures_of(folder)
    due = [piece for piece in pieces if piece not in finished]
    if not due:
        return
    sizes = {line["partitions"] for line in finished.values()}
    assert sizes <= {partitions}, f"{folder} is of {sizes} partitions"
    with standing(folder, Catalog(partitions)) as stand:
        for piece in due:
            began = time.perf_counter()
            with watched() as watch:
                figures = PIECES[piece](stand)
            line: dict[str, Any] = {
                "piece": piece,
                "partitions": partitions,
                "piece_s": round(time.perf_counter() - began, 1),
                **figures,
                **watch,
            }
            print_line(**line)
            growth.keep(folder, line)
            if not figures.get("finished", True):
                sys.exit("not finished: run it again, and it goes on")


if __name__ == "__main__":
    main()
