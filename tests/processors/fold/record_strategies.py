"""Records of every form, as Hypothesis makes them."""

from typing import Any

from hypothesis import strategies as st
from msgspec import inspect

from hive.names import TableName
from state.records.actions import AllocateWriteIds

NUMBERS = (-(1 << 63), -1, 0, 1, 2, 3, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 63) - 1)
TEXTS = ("", "a", "b", "hive", "a/b=c", "\0", "É", "𝄞")
ITEMS_MAX = 3


def strategy(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """All that the decoder takes for this type, of few numbers and texts, so that they meet."""
    match kind:
        case inspect.VarTupleType(item_type=item):
            return st.lists(strategy(item), max_size=ITEMS_MAX).map(tuple)
        case inspect.TupleType(item_types=items):
            return st.tuples(*map(strategy, items))
        case inspect.DictType(key_type=key, value_type=value):
            return st.dictionaries(strategy(key), strategy(value), max_size=ITEMS_MAX)
        case inspect.UnionType(types=types):
            return st.one_of(*map(strategy, types))
        case inspect.StructType(cls=cls) if cls is AllocateWriteIds:
            return st.builds(allocation, strategy(inspect.type_info(TableName)), PAIRS)
        case inspect.StructType(cls=cls, fields=fields):
            return st.builds(cls, **{one.name: strategy(one.type) for one in fields})
        case inspect.NamedTupleType(cls=cls, fields=fields):
            return st.builds(cls, **{one.name: strategy(one.type) for one in fields})
    return scalar(kind)


def scalar(kind: inspect.Type) -> st.SearchStrategy[Any]:
    match kind:
        case inspect.IntType(ge=least, le=most):
            low = -(1 << 63) if least is None else least
            high = (1 << 63) - 1 if most is None else most
            return st.sampled_from([one for one in NUMBERS if low <= one <= high])
        case inspect.StrType():
            return st.sampled_from(TEXTS)
        case inspect.BytesType():
            return st.sampled_from([b"", b"\0", b"\xff" * 8])
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
        case inspect.EnumType(cls=cls):
            return st.sampled_from(cls)
    raise AssertionError(kind)


PAIRS = st.lists(st.tuples(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS)), max_size=ITEMS_MAX)


def allocation(table: TableName, pairs: list[tuple[int, int]]) -> AllocateWriteIds:
    return AllocateWriteIds(table, tuple(txn for txn, _ in pairs), tuple(id_ for _, id_ in pairs))
