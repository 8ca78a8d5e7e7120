"""What differing bytes say, and what a sample says of the whole."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from query_api.audit.findings import bound, differing

LEAVES = st.none() | st.integers() | st.text(max_size=5) | st.binary(max_size=5)
STRUCTS = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)
MAPPINGS = st.dictionaries(st.text("abc", min_size=1, max_size=2), STRUCTS, max_size=4)


def test_only_what_differs_is_told_by_its_path() -> None:
    ours = {"owner": "ann", "sd": {"location": "s3a://old", "cols": [{"type": "int"}]}}
    theirs = {"owner": "ann", "sd": {"location": "s3a://new", "cols": []}, "id": 7}
    assert [(one.field, one.cache, one.database) for one in differing(ours, theirs)] == [
        ("sd.location", "s3a://old", "s3a://new"),
        ("sd.cols.0.type", "int", None),
        ("id", None, 7),
    ]


@given(MAPPINGS)
def test_what_is_the_same_has_no_differing_field(one: dict[str, Any]) -> None:
    assert differing(one, dict(reversed(one.items()))) == []


@given(MAPPINGS, MAPPINGS)
def test_the_sides_are_alike(ours: dict[str, Any], other: dict[str, Any]) -> None:
    there = {
        (found.field, repr(found.cache), repr(found.database)) for found in differing(ours, other)
    }
    back = {
        (found.field, repr(found.database), repr(found.cache)) for found in differing(other, ours)
    }
    assert there == back


@given(st.integers(1, 10**9))
def test_the_rule_of_three(count: int) -> None:
    findings = bound(count, 0)
    assert findings.wrong_at_most is not None
    assert findings.nines is not None
    # With a greater share than that, none in so many would be a rare chance.
    assert count < 3 or (1 - findings.wrong_at_most) ** count <= 0.05
    assert (bound(10 * count, 0).nines or 0) >= findings.nines


def test_nothing_is_claimed_where_something_is_wrong_or_nothing_was_seen() -> None:
    assert bound(1000, 1).nines is None
    assert bound(0, 0).wrong_at_most is None
