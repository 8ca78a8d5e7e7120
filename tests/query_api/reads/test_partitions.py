"""What reads of partitions know from their names."""

from hypothesis import given
from hypothesis import strategies as st

from hive.names import partition_name, partition_values
from query_api.reads.partitions import ValuesInNames

KEYS = ("ds", "hr")
texts = st.sampled_from(
    ["1", "2026-10-15", "a b", "é", "a/b", "100%", "__HIVE_DEFAULT_PARTITION__"]
)
names = st.builds(lambda ds, hr: partition_name(KEYS, (ds, hr)), texts, texts)
spelled_otherwise = st.sampled_from(["DS=1/HR=2", "ds=a%3a/hr=2", "ds=a:b/hr=2"])


@given(st.lists(names | spelled_otherwise, unique=True))
def test_values_are_those_in_the_names_however_these_are_spelled(many: list[str]) -> None:
    values = ValuesInNames(KEYS, many)
    assert list(values) == values[:] == list(map(partition_values, many))
    assert values[1:] == values[:][1:]
