"""Errors of tasks, with the shard that they are about."""

from collections.abc import Iterator
from contextlib import contextmanager

from hive.errors import MetatideError, TaskError
from state.store import Store


@contextmanager
def errors_with_shard(store: Store) -> Iterator[None]:
    """Adds the shard and the last event to errors of a store."""
    try:
        yield
    except (MetatideError, OSError, AssertionError) as error:
        position = store.position
        raise TaskError(
            f"shard {store.identity.shard}, after event {position.applied} "
            f"(offset {position.offset}): {error}"
        ) from error
