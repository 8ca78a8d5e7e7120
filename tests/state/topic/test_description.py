"""What a description of a topic tells."""

import pytest

from hive.errors import InputError
from state.topic import Topic


@pytest.mark.parametrize("shard", [-1, 4])
def test_a_shard_that_does_not_exist_is_refused(shard: int) -> None:
    topic = Topic("broker:9092", "events", 4)
    topic.require_shard(0)
    topic.require_shard(3)
    with pytest.raises(InputError) as refused:
        topic.require_shard(shard)
    assert str(refused.value) == f"there is no shard {shard}: topic events has 0 to 3"
