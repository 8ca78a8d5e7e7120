"""Methods, requests and exceptions are numbered as Hive's own definition numbers them."""

from typing import Any

import pytest

from hive.thrift import requests
from hive.thrift.types import LIST, STRUCT, Struct
from query_api.thrift.methods.grouping import PARTITION_SPEC, PARTITION_WITHOUT_SD, WITH_SHARED_SD
from query_api.thrift.methods.method_table import methods
from query_api.thrift.methods.outcome import BY_EXPRESSION, LIST_IN, MAP_IN, STRUCT_IN
from query_api.thrift.methods.table_metas import TABLE_META
from tests.hive.thrift.idl_types import ours, theirs
from tests.query_api.thrift.methods.dropped_methods import DROPPED
from tests.query_api.thrift.methods.wire import struct_of

pytestmark = pytest.mark.hive
METHODS = {name: one for name, one in methods("").items() if name not in DROPPED}
STRUCTS = [
    *(TABLE_META, PARTITION_WITHOUT_SD, WITH_SHARED_SD, PARTITION_SPEC),
    *(one for one in vars(requests).values() if isinstance(one, Struct)),
]

LEFT_OUT = {PARTITION_WITHOUT_SD: frozenset((6,)), PARTITION_SPEC: frozenset((5, 7, 8))}
"""Fields that our answers never have."""


def spelled(spec: tuple[Any, ...]) -> Any:
    return theirs(spec[0], spec[2] if len(spec) == 4 else None)


@pytest.mark.parametrize("struct", STRUCTS, ids=repr)
def test_requests(struct: Struct) -> None:
    spec = struct_of(struct.name).thrift_spec
    left_out = LEFT_OUT.get(struct, frozenset[int]())
    expected = {id_: (one[1], spelled(one)) for id_, one in spec.items() if id_ not in left_out}
    assert {field.id: (field.name, ours(field.type)) for field in struct.fields} == expected


@pytest.mark.parametrize("name", METHODS)
def test_arguments_and_results(name: str) -> None:
    method = METHODS[name]
    spec = struct_of(f"{name}_args").thrift_spec
    assert {field.id: ours(field.type) for field in method.arguments.fields} == {
        id_: spelled(one) for id_, one in spec.items()
    }
    value, *raised = [one for _, one in sorted(struct_of(f"{name}_result").thrift_spec.items())]
    assert [one[2].__name__ for one in raised] == list(method.exceptions)
    assert method.shape.before[0] == value[0]
    if method.shape in (STRUCT_IN, LIST_IN, MAP_IN, BY_EXPRESSION):
        assert value[0] == STRUCT
        assert method.shape.before[3] == value[2].thrift_spec[1][0]
    if method.shape.before[0] == LIST:
        assert len(method.shape.before) == 3


def test_dropped_methods_are_gone_there() -> None:
    for name in DROPPED:
        with pytest.raises(AttributeError):
            struct_of(f"{name}_args")
