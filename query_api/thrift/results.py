"""Results in chunks."""

from collections.abc import AsyncIterable

from query_api.thrift.call import Result


async def whole(result: Result) -> bytes:
    """The whole result at once."""
    if isinstance(result, bytes):
        return result
    if isinstance(result, AsyncIterable):
        return b"".join([chunk async for chunk in result])
    return b"".join(result)
