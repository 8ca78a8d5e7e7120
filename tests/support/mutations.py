"""Bytes that were meant well, changed in a few places; Hypothesis finds the shortest bad change."""

from collections.abc import Callable, Sequence
from typing import Final

from hypothesis import strategies as st

NUMBERS: Final = (
    *(b"0", b"7", b"12", b"99999", b"-1", b"0.5", b"1e999", b"1_0", str(2**31).encode()),
    *(str(2**power - less).encode() for power in (62, 63, 64) for less in (0, 1)),
)
Mutation = Callable[[bytes], bytes]
_places = st.integers(0, 1 << 20)


def replace_number(at: int, put: bytes) -> Mutation:
    """Puts something in place of a run of digits, so that what surrounds it stays well-formed."""

    def mutate(text: bytes) -> bytes:
        digits = [place for place, byte in enumerate(text) if byte in b"0123456789"]
        if not digits:
            return text
        start = end = digits[at % len(digits)]
        while text[start - 1 : start].isdigit():
            start -= 1
        while text[end : end + 1].isdigit():
            end += 1
        return text[:start] + put + text[end:]

    return mutate


def replace(at: int, length: int, put: bytes) -> Mutation:
    def mutate(text: bytes) -> bytes:
        start = at % (len(text) + 1)
        return text[:start] + put + text[start + length :]

    return mutate


def copy(source: int, length: int, to: int, times: int = 1) -> Mutation:
    """Inserts a part of the bytes at another place, so many times."""

    def mutate(text: bytes) -> bytes:
        source_, to_ = source % (len(text) + 1), to % (len(text) + 1)
        return text[:to_] + text[source_ : source_ + length] * times + text[to_:]

    return mutate


gentle: Final = st.builds(replace_number, _places, st.sampled_from(NUMBERS))
"""Other numbers, which leave the form as it is."""


def mutations(hostile: Sequence[bytes]) -> st.SearchStrategy[Mutation]:
    """Changes of all kinds, many of which put in one of these pieces."""
    return st.one_of(
        gentle,
        st.builds(replace_number, _places, st.sampled_from(hostile)),
        st.builds(replace, _places, st.integers(0, 40), st.sampled_from(hostile)),
        st.builds(replace, _places, st.integers(0, 2000), st.binary(max_size=3)),
        st.builds(copy, _places, st.integers(1, 300), _places),
    )


def mutants(
    seeds: Sequence[bytes], hostile: Sequence[bytes], times_max: int
) -> st.SearchStrategy[bytes]:
    """Each of these bytes with a few changes, and with parts that come up to so many times."""
    repeated = st.builds(copy, _places, st.integers(1, 40), _places, st.integers(1, times_max))
    # The shortest come first, because shrinking goes to the first.
    some = st.sampled_from(sorted(set(seeds), key=lambda seed: (len(seed), seed)))
    changes = st.lists(mutations(hostile) | repeated, min_size=1, max_size=3)
    return st.builds(_changed, some, changes)


def _changed(data: bytes, changes: Sequence[Mutation]) -> bytes:
    for change in changes:
        data = change(data)
    return data
