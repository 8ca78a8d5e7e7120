"""The bag against a plain set."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from metatide.demo.bag import Bag


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12))), st.integers(0, 99))
def test_a_bag_holds_what_a_set_would(operations: list[tuple[bool, int]], seed: int) -> None:
    bag: Bag[int] = Bag()
    model: set[int] = set()
    for add, item in operations:
        if add and item not in model:
            bag.add(item)
            model.add(item)
        elif not add and item in model:
            bag.remove(item)
            model.remove(item)
        assert set(bag) == model
        assert len(bag) == len(model)
        assert (item in bag) == (item in model)
    rng = Random(seed)
    if model:
        assert bag.choice(rng) in model
    sample = bag.sample(rng, 5)
    assert len(sample) == len(set(sample)) == min(5, len(model))
    assert set(sample) <= model
