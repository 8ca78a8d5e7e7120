"""The bytes of calls that haven't begun."""

from collections import deque


class Budget:
    """Counts the bytes of all clients' calls that haven't begun."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.bytes = 0

    @property
    def is_exceeded(self) -> bool:
        return self.bytes > self.bytes_max


class Backlog:
    """The bytes of one client's calls that haven't begun; they count against the budget of all."""

    def __init__(self, budget: Budget) -> None:
        self.size = 0
        self.partial: list[bytes] = []
        """The beginning of a call whose end hasn't arrived."""
        self.waiting: deque[bytes] = deque()
        """Bytes that arrived while no call could begin."""
        self._budget = budget

    def put(self, data: bytes) -> None:
        self.waiting.append(data)
        self._count(len(data))

    def put_back(self, data: bytes) -> None:
        """Puts back bytes that arrived before all that wait."""
        self.waiting.appendleft(data)
        self._count(len(data))

    def take(self) -> bytes:
        """Removes and returns the first bytes that wait."""
        data = self.waiting.popleft()
        self._count(-len(data))
        return data

    def put_partial(self, data: bytes) -> None:
        self.partial.append(data)
        self._count(len(data))

    def take_partial(self, end: bytes) -> bytes:
        """The whole call that ends with these bytes."""
        self._count(-sum(map(len, self.partial)))
        whole = b"".join((*self.partial, end))
        self.partial.clear()
        return whole

    def clear(self) -> None:
        self.partial.clear()
        self.waiting.clear()
        self._count(-self.size)

    def _count(self, size: int) -> None:
        self.size += size
        self._budget.bytes += size
