from hypothesis import given
from hypothesis import strategies as st

from hive.write_ids.bit_set import parse_bit_set, print_bit_set


@given(st.sets(st.integers(0, 200)))
def test_bit_sets_are_little_endian_numbers_without_zero_bytes_at_the_end(places: set[int]) -> None:
    number = sum(1 << place for place in places)
    bits = print_bit_set(sorted(places))
    assert bits == number.to_bytes((number.bit_length() + 7) // 8, "little")
    assert parse_bit_set(bits + b"\0") == sorted(places)
