"""The call with which a shard moves the live consumer."""

from typing import Protocol


class Seek(Protocol):
    """Moves the live consumer of a shard to an offset; False when that isn't possible now."""

    async def __call__(self, shard: int, offset: int) -> bool: ...
