"""What a write-id list means, as plain sets, and all small lists there are."""

from collections.abc import Iterator
from itertools import combinations, product

from hypothesis import strategies as st

from hive.write_ids.lists import WriteIdList, write_id_list


def committed(ids: WriteIdList) -> set[int]:
    return set(range(1, ids.hwm + 1)) - set(ids.exceptions)


def small_lists(hwm_max: int, *, with_aborted: bool) -> Iterator[WriteIdList]:
    """Every list up to a high-water mark."""
    states = "coa" if with_aborted else "co"
    for hwm in range(hwm_max + 1):
        for state in product(states, repeat=hwm):
            ids = list(enumerate(state, start=1))
            yield write_id_list(
                hwm, [id_ for id_, s in ids if s == "o"], [id_ for id_, s in ids if s == "a"]
            )


def subsets(ids: range) -> Iterator[tuple[int, ...]]:
    for size in range(len(ids) + 1):
        yield from combinations(ids, size)


TABLES = st.from_regex(r"[a-z0-9_]{1,9}\.[a-z0-9_]{1,9}", fullmatch=True)


@st.composite
def write_id_lists(draw: st.DrawFn, id_max: int = 1 << 40) -> WriteIdList:
    """Lists as Hive makes them, ids near or far."""
    near = st.integers(1, 60)
    ids = st.lists(st.one_of(near, st.integers(1, id_max)), unique=True, max_size=40)
    states = draw(st.dictionaries(st.sampled_from(draw(ids) or [1]), st.booleans()))
    hwm = draw(st.integers(max(states, default=0), id_max))
    return write_id_list(
        hwm,
        [id_ for id_, is_open in states.items() if is_open],
        [id_ for id_, is_open in states.items() if not is_open],
        draw(TABLES),
    )
