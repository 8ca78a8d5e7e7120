"""Results in chunks."""

from collections.abc import AsyncIterable, Callable

from query_api.thrift.call import Result


async def whole(result: Result, count: Callable[[int], None] = lambda _: None) -> bytes:
    """The whole result at once. `count` is called with the size of each chunk that came while
    others waited.
    """
    if isinstance(result, bytes):
        return result
    if not isinstance(result, AsyncIterable):
        return b"".join(result)
    chunks = []
    async for chunk in result:
        count(len(chunk))
        chunks.append(chunk)
    return b"".join(chunks)
