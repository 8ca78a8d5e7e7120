"""Batches stay small in bytes, whatever records come."""

from hypothesis import given
from hypothesis import strategies as st

from state.topic.batches import BYTES_MAX, RECORDS_MAX, BatchSize


@given(st.lists(st.tuples(st.integers(1, RECORDS_MAX), st.integers(0, 16 << 20)), min_size=1))
def test_a_batch_of_records_like_the_last_ones_fits(batches: list[tuple[int, int]]) -> None:
    size = BatchSize()
    for records, mean in batches:
        size.adapt(records, records * mean)
        assert 1 <= size.records <= RECORDS_MAX
        assert size.records * mean <= BYTES_MAX or size.records == 1
    if mean <= BYTES_MAX // (2 * RECORDS_MAX):
        assert size.records == RECORDS_MAX, "small records come in large batches again"
