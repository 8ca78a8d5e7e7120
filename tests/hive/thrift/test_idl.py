"""Our descriptions against Hive's own interface definition."""

from typing import Any

import pytest
from hypothesis import given
from thriftpy2.utils import deserialize

from hive.events.envelope import open_message
from hive.thrift.binary import decode, encode
from hive.thrift.structs import (
    CHECK_CONSTRAINT,
    COLUMN_STATISTICS,
    COLUMN_STATISTICS_OBJ,
    DATABASE,
    DEFAULT_CONSTRAINT,
    FOREIGN_KEY,
    FUNCTION,
    NOT_NULL_CONSTRAINT,
    PARTITION,
    PRIMARY_KEY,
    TABLE,
    UNIQUE_CONSTRAINT,
)
from hive.thrift.tjson import loads, transcode
from hive.thrift.types import ListOf, MapOf, Struct, Type
from tests.hive.events.logs import LOGS, rows
from tests.hive.thrift.idl_types import ours, theirs
from tests.hive.thrift.objects import STRUCTS, values
from tests.support.hive import idl

pytestmark = pytest.mark.hive
OBJECTS = {
    "tableObjJson": TABLE,
    "tableObjBeforeJson": TABLE,
    "tableObjAfterJson": TABLE,
    "partitionListJson": PARTITION,
    "partitionObjBeforeJson": PARTITION,
    "partitionObjAfterJson": PARTITION,
    "dbJson": DATABASE,
    "dbObjBeforeJson": DATABASE,
    "dbObjAfterJson": DATABASE,
    "functionObjJson": FUNCTION,
    "colStatsJson": COLUMN_STATISTICS,
    "primaryKeyListJson": PRIMARY_KEY,
    "foreignKeyListJson": FOREIGN_KEY,
    "uniqueConstraintListJson": UNIQUE_CONSTRAINT,
    "notNullConstraintListJson": NOT_NULL_CONSTRAINT,
    "defaultConstraintListJson": DEFAULT_CONSTRAINT,
    "checkConstraintListJson": CHECK_CONSTRAINT,
}


def reachable() -> dict[str, Struct]:
    """All structs that we describe, those within others too."""
    structs: dict[str, Struct] = {}
    waiting: list[Type] = list(STRUCTS)
    while waiting:
        type_ = waiting.pop()
        if isinstance(type_, Struct) and type_.name not in structs:
            structs[type_.name] = type_
            waiting += [field.type for field in type_.fields]
        elif isinstance(type_, ListOf):
            waiting.append(type_.item)
        elif isinstance(type_, MapOf):
            waiting += [type_.key, type_.value]
    return structs


def test_every_struct_is_the_same() -> None:
    module = idl.load()
    structs = reachable()
    assert len(structs) >= 40
    for name, struct in structs.items():
        spec = getattr(module, name).thrift_spec
        expected = {
            id_: (field[1], theirs(field[0], field[2] if len(field) == 4 else None))
            for id_, field in spec.items()
        }
        assert {f.id: (f.name, ours(f.type)) for f in struct.fields} == expected, name


def by_thriftpy2(struct: Struct, data: bytes) -> Any:
    return idl.plain(deserialize(getattr(idl.load(), struct.name)(), data))


@pytest.mark.parametrize("log", LOGS)
def test_objects_of_real_logs_read_the_same_by_hives_definition(log: str) -> None:
    count = 0
    for row in rows(log):
        message = loads(open_message(row["MESSAGE"], row["MESSAGE_FORMAT"]))
        for field, struct in OBJECTS.items():
            references = message.get(field) or []
            for text in references if isinstance(references, list) else [references]:
                data = transcode(struct, text)
                assert by_thriftpy2(struct, data) == idl.plain(decode(struct, data))
                count += 1
    assert count > 50


@given(values(COLUMN_STATISTICS_OBJ))
def test_statistics_read_the_same_by_hives_definition(mapping: dict[str, Any]) -> None:
    data = encode(COLUMN_STATISTICS_OBJ, mapping)
    assert by_thriftpy2(COLUMN_STATISTICS_OBJ, data) == idl.plain(mapping)
