"""That what passes lies within the bounds, and that these are tight where they can be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.collation import UNKNOWN
from hive.filters.bounds import Span
from hive.filters.partition_filter import by_filter
from hive.filters.plain_values import unplain_keys
from hive.filters.regions import MAX_INTERVALS
from hive.filters.semantics import PartitionKey
from hive.names import DEFAULT_PARTITION, TableName
from state import keys
from tests.hive.filters.corpus import Corpus
from tests.hive.filters.narrowing import holds

TABLE = TableName("hive", "d", "t")
CORPUS = Corpus(
    [PartitionKey("s", "string"), PartitionKey("day_of", "date"), PartitionKey("n", "int")]
)
STRINGS = Corpus([PartitionKey(name, "string") for name in ("a", "b")])


def stretch(span: Span) -> tuple[bytes, bytes]:
    """The first key of the store that is in a span, and the first behind it."""
    first = keys.partition(TABLE, span.prefix)
    low = keys.partition(TABLE, (*span.prefix, span.low)) if span.low else first
    behind = first[:-1] + bytes((first[-1] + 1,))
    high = keys.partition(TABLE, (*span.prefix, span.high)) if span.high is not None else behind
    return low, high


@pytest.mark.parametrize("corpus", [CORPUS, STRINGS], ids=["mixed", "strings"])
@given(data=st.data())
def test_what_passes_is_in_one_span(corpus: Corpus, data: st.DataObject) -> None:
    partitions = data.draw(st.lists(corpus.partitions(), min_size=1, max_size=20))
    wanted = by_filter(data.draw(corpus.filters()).text, corpus.keys)
    spans, matches = data.draw(st.sampled_from([wanted.spans, wanted.plain_spans])), wanted.matches
    stretches = [stretch(span) for span in spans]
    for values in partitions:
        key = keys.partition(TABLE, values)
        holding = [holds(span, values) for span in spans]
        assert holding == [low <= key < high for low, high in stretches]
        assert sum(holding) <= 1
        sure = spans == wanted.spans or unplain_keys(corpus.keys, [values]).isdisjoint(wanted.cast)
        assert sum(holding) == 1 or not sure or not matches(values)


@given(st.data())
def test_spans_are_in_the_order_of_the_store(data: st.DataObject) -> None:
    spans = by_filter(data.draw(STRINGS.filters()).text, STRINGS.keys).spans
    ends = [end for span in spans for end in stretch(span)]
    assert ends == sorted(ends)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [Span(())]),
        ("n > 5 or n != 7", [Span(())]),
        ("s = 'x'", [Span(("x",))]),
        ("s = 'x' and s = 'y'", []),
        ("s < ''", []),
        ("(s) in ('b', 'a', 'b') and n = 1", [Span(("a",)), Span(("b",))]),
        ("s = 'x' and day_of = 2024-01-01", [Span(("x",), "2024-01-01", "2024-01-02")]),
        ("s >= 'b' and s < 'd' and s > 'a'", [Span((), "b", "d")]),
        ("s <= 'b' or s = 'd'", [Span((), "", "b\0"), Span((), "d", "d\0")]),
        ("s < 'd' and s <= 'b'", [Span((), "", "b\0")]),
        ("s > 'b'", [Span((), "b\0")]),
        ("(s) in ('x', '')", [Span((DEFAULT_PARTITION,)), Span(("x",))]),
        ("s = ''", [Span((DEFAULT_PARTITION,))]),
        ("s < 'B'", [Span((), "", "B"), Span((), DEFAULT_PARTITION, f"{DEFAULT_PARTITION}\0")]),
        ("s like 'ab\\_c%'", [Span((), "ab_c", "ab_d")]),
        ("s like '\ud7ff%'", [Span((), "\ud7ff", "\ue000")]),
        ("s like 'a\U0010ffff%'", [Span((), "a\U0010ffff", "b")]),
        ("s like '\U0010ffff_'", [Span((), "\U0010ffff")]),
        ("s like '%a'", [Span(())]),
        ("s = 'x' or n = 1", [Span(())]),
        ("(s = 'x' and n = 1) or s = 'y'", [Span(("x",)), Span(("y",))]),
        ("s = 'x' and day_of = '2024-01-01' and n = 1", [Span(("x",), "2024-01-01", "2024-01-02")]),
    ],
)
def test_how_tight_they_are(text: str, expected: list[Span]) -> None:
    assert by_filter(text, CORPUS.keys).spans == expected


def test_an_order_of_texts_that_is_not_by_bytes_bounds_nothing() -> None:
    for text in ("s >= 'b' and s < 'd'", "s <= 'b' or s = 'd'", "s > 'b'"):
        assert by_filter(text, CORPUS.keys, UNKNOWN).spans == [Span(())]
    assert by_filter("s = 'x'", CORPUS.keys, UNKNOWN).spans == [Span(("x",))]


def test_there_are_never_more_than_the_store_should_seek() -> None:
    many = ", ".join(f"'{number:04}'" for number in range(MAX_INTERVALS + 1))
    assert by_filter(f"(s) in ({many})", CORPUS.keys).spans == [Span((), "0000", "0256\0")]
    some = ", ".join(f"'{number:04}'" for number in range(200))
    spans = by_filter(f"(a) in ({some}) and (b) in ('x', 'y')", STRINGS.keys).spans
    assert len(spans) == 200
    assert spans[0] == Span(("0000",), "x", "y\0")


@pytest.mark.parametrize(
    ("type_", "text", "inside", "outside"),
    [
        ("int", "k between 50000 and 50999", ["50000", "50999"], ["49998", "51000", "6", "100"]),
        ("int", "k >= 3 and k < 13", ["3", "9", "12"], ["13", "14"]),
        ("int", "k > -20 and k <= -10", ["-19", "-10"], ["-20", "-21", "10", "19"]),
        ("int", "k >= 3 and k < 5 or k = 20", ["3", "4", "20"], ["5", "19"]),
        ("date", "k > '2024-02-14' and k < '2024-02-16'", ["2024-02-15"], ["2024-02-14"]),
        (
            "date",
            "k between 2024-02-15 and 2024-03-01",
            ["2024-02-29"],
            ["2024-02-14", "2024-03-02"],
        ),
        (
            "timestamp",
            "k <= '2024-02-15 10:00:00'",
            ["2024-02-15 09:59:59.9", "2024-02-15 10:00:00.0"],
            ["2024-02-15 10:00:01"],
        ),
    ],
)
def test_ranges_of_numbers_and_dates_bound_the_first_key(
    type_: str, text: str, inside: list[str], outside: list[str]
) -> None:
    for keys_of_table in ([PartitionKey("k", type_)], [PartitionKey("k", type_), CORPUS.keys[0]]):
        spans = by_filter(text, keys_of_table).plain_spans
        rest = ("x",) * (len(keys_of_table) - 1)
        assert all(any(holds(span, (value, *rest)) for span in spans) for value in inside)
        assert not any(holds(span, (value, *rest)) for span in spans for value in outside)
