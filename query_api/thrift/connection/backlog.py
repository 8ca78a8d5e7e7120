"""The bytes of calls that haven't begun."""

from collections import deque

from query_api.in_flight import Share


class Backlog:
    """The bytes of one client's calls that haven't begun; they are in flight."""

    def __init__(self, share: Share) -> None:
        self.size = 0
        self.partial: list[bytes] = []
        """The beginning of a call whose end hasn't arrived."""
        self.waiting: deque[bytes] = deque()
        """Bytes that arrived while no call could begin."""
        self._share = share

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
        self._share.add(size)
