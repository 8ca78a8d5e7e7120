"""What a run did, as lines of JSON; a run that is ended goes on behind the last."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

LOG_BYTES_MAX: Final = 4 << 20


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

    def keep_logs(self, number: int, logs: Iterable[Path]) -> None:
        """Copies the ends of logs beside the journal: a run deletes its own."""
        folder = self._path.parent / f"logs-{number}"
        folder.mkdir(exist_ok=True)
        for log in logs:
            with log.open("rb") as file:
                file.seek(max(0, log.stat().st_size - LOG_BYTES_MAX))
                (folder / log.name).write_bytes(file.read())

    def add(self, line: Mapping[str, Any]) -> None:
        text = json.dumps(line)
        print(text, flush=True)
        with self._path.open("a") as file:
            file.write(text + "\n")
