"""The body of a request, within its limits."""

import asyncio
from typing import Final

from starlette.types import Receive, Scope

from hive.errors import InputError, TooLargeError
from query_api.http.messages import header

BYTES_MAX: Final = 4 * 1024 * 1024
TIMEOUT_S: Final = 10.0


async def read_body(scope: Scope, receive: Receive) -> bytes:
    """Raises TooLargeError, or InputError where the sender is too slow."""
    length = header(scope, b"content-length")
    if length is not None and (not length.isdigit() or int(length[:20]) > BYTES_MAX):
        raise TooLargeError(f"the body is longer than {BYTES_MAX} bytes")
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise asyncio.CancelledError
                part = message.get("body", b"")
                size += len(part)
                if size > BYTES_MAX:
                    raise TooLargeError(f"the body is longer than {BYTES_MAX} bytes")
                parts.append(part)
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise InputError(f"the body did not arrive within {TIMEOUT_S:g} s") from None
