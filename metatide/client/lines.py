"""Lines of JSON in bytes that arrive in blocks. This module uses no network."""

from collections.abc import Iterator


class Lines:
    """Puts lines together. Only a line feed ends one: texts in them may hold other characters that
    end lines elsewhere, such as U+2028.
    """

    def __init__(self) -> None:
        self._begun: list[bytes] = []

    def feed(self, block: bytes) -> Iterator[bytes]:
        """The lines that end in this block."""
        first, *more = block.split(b"\n")
        self._begun.append(first)
        for part in more:
            yield from self.rest()
            self._begun.append(part)

    def rest(self) -> Iterator[bytes]:
        """The line that nothing has ended so far, unless it is empty."""
        line = b"".join(self._begun)
        self._begun.clear()
        if line:
            yield line
