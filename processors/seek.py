"""How a shard tells the live consumer where to go on."""

from typing import Protocol


class Seek(Protocol):
    """Sends the live consumer of a shard to an offset; False when it can't go there now."""

    async def __call__(self, shard: int, offset: int) -> bool: ...
