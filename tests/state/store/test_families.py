from state import keys
from state.store.families import SHARD_FAMILIES
from state.store.options import check_families


def test_families_hold_kinds_that_exist_each_in_one_of_them() -> None:
    check_families(SHARD_FAMILIES)
    kinds = b"".join(family.kinds for family in SHARD_FAMILIES)
    assert set(kinds) <= set(b"".join(keys.KINDS))
