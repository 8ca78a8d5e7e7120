"""Results that are made in pieces."""

from collections.abc import AsyncIterator

import pytest

from query_api.thrift.call import Result
from query_api.thrift.results import whole


async def pieces() -> AsyncIterator[bytes]:
    for piece in (b"a", b"bcd"):
        yield piece


@pytest.mark.parametrize(
    ("result", "sizes"), [(b"abcd", []), (iter([b"a", b"bcd"]), []), (pieces(), [1, 3])]
)
async def test_a_result_is_made_whole_and_counted_where_others_wait_for_it(
    result: Result, sizes: list[int]
) -> None:
    counted: list[int] = []
    assert await whole(result, counted.append) == b"abcd"
    assert counted == sizes
