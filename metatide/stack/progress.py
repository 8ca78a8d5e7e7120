"""A progress line on the terminal for whatever takes more than two seconds."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status
from rich.text import Text

from metatide.process.consoles import PlainConsole

PATIENCE_S = 2.0


class Progress:
    """A text that is shown after two seconds; on a terminal, with a changing detail."""

    def __init__(self, text: str, console: Console) -> None:
        self._text = text
        self._console = console
        self._status: Status | None = None
        self._lock = threading.Lock()

    def update(self, detail: str) -> None:
        with self._lock:
            if self._status is not None:
                self._status.update(Text(f"{self._text}: {detail}"))

    def show(self) -> None:
        with self._lock:
            if self._console.is_terminal:
                self._status = Status(Text(self._text), console=self._console)
                self._status.start()
            else:
                self._console.print(f"metatide: {self._text}", highlight=False, soft_wrap=True)

    def close(self) -> None:
        with self._lock:
            if self._status is not None:
                self._status.stop()


@contextmanager
def progress(text: str) -> Iterator[Progress]:
    """Shows `text` on stderr if the block takes more than two seconds."""
    shown = Progress(text, PlainConsole(stderr=True))
    timer = threading.Timer(PATIENCE_S, shown.show)
    timer.daemon = True
    timer.start()
    try:
        yield shown
    finally:
        timer.cancel()
        timer.join()
        shown.close()
