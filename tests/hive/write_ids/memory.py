"""Pages in a dictionary."""

from collections.abc import Iterator


class MemoryPages:
    def __init__(self) -> None:
        self.pages: dict[bytes, bytes] = {}
        self.touched = 0

    def get(self, key: bytes) -> bytes | None:
        self.touched += 1
        return self.pages.get(key)

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return iter(
            [(key, self.pages[key]) for key in sorted(self.pages) if key.startswith(prefix)]
        )

    def put(self, key: bytes, value: bytes) -> None:
        self.touched += 1
        self.pages[key] = value

    def delete(self, key: bytes) -> None:
        self.touched += 1
        self.pages.pop(key, None)

    def delete_prefix(self, prefix: bytes) -> None:
        for key in [key for key in self.pages if key.startswith(prefix)]:
            del self.pages[key]
