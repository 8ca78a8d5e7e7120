"""What the tests of the resolver share."""

from collections.abc import Iterator

import pytest

from query_api.resolver import shard_facts


@pytest.fixture(scope="module")
def objects_of_the_model() -> Iterator[None]:
    """The model's objects are numbers, in which nothing can be silent."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("table_is_silent", "is_replicated", "database_is_silent"):
            patch.setattr(shard_facts, name, lambda _: False)
        yield
