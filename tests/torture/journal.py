"""What a run did, as lines of JSON; a run that is ended goes on behind the last."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class Journal:
    """The file of a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "torture.jsonl"

    def lines(self) -> Iterator[dict[str, Any]]:
        if self._path.exists():
            yield from map(json.loads, self._path.read_text().splitlines())

    def faults(self) -> list[dict[str, Any]]:
        return [line for line in self.lines() if "fault" in line]

    def add(self, line: Mapping[str, Any]) -> None:
        text = json.dumps(line)
        print(text, flush=True)
        with self._path.open("a") as file:
            file.write(text + "\n")
