"""What tests of methods share."""

import pytest

from tests.query_api.shards import MemoryShards
from tests.query_api.thrift.methods.cached_calls import shards


@pytest.fixture(scope="module")
def source() -> MemoryShards:
    return shards()
