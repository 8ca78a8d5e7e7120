"""That the client's structs are what the server describes."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from metatide.client import constraint_objects, objects, statistics_objects
from metatide.client.hive_struct import HiveStruct

SCHEMAS = json.loads((Path(__file__).parents[3] / "docs" / "openapi.json").read_text())[
    "components"
]["schemas"]
STRUCTS = [
    struct
    for module in (objects, constraint_objects, statistics_objects)
    for struct in vars(module).values()
    if isinstance(struct, type) and struct.__module__ == module.__name__
]


def plain(schema: dict[str, Any]) -> Any:
    """What a schema says of the type alone; null is what a field without a value is."""
    if "anyOf" in schema:
        [rest] = (one for one in schema["anyOf"] if one != {"type": "null"})
        return plain(rest)
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    kind = schema["type"]
    if isinstance(kind, list):
        [kind] = (one for one in kind if one != "null")
    if kind == "array":
        return [plain(schema["items"])]
    if kind == "object":
        return {"": plain(schema["additionalProperties"])}
    return kind, schema.get("contentEncoding")


def types(schema: dict[str, Any]) -> dict[str, Any]:
    return {name: plain(field) for name, field in schema["properties"].items()}


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: str(struct.__name__))
def test_a_struct_has_the_fields_that_the_server_describes(struct: type[HiveStruct]) -> None:
    _, described = msgspec.json.schema_components([struct])
    assert types(described[struct.__name__]) == types(SCHEMAS[struct.__name__])


def test_no_struct_of_an_answer_is_missing() -> None:
    names = [struct.__name__ for struct in STRUCTS]
    assert len(names) == len(set(names))
    assert referenced() == set(names)


def referenced() -> set[str]:
    """The schemas that those of answers refer to, and they themselves."""
    waiting = ["Table", "Partition", "Database", "Function", "TableMeta", "WriteIds"]
    waiting += ["SQLAllTableConstraints", "ColumnStatisticsObj"]
    names: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            text = json.dumps(SCHEMAS[name])
            waiting += [part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]]
    return names


def test_fields_that_a_newer_server_adds_are_left_out() -> None:
    table = msgspec.json.decode(b'{"tableName": "t", "never": [1]}', type=objects.Table)
    assert (table.tableName, table.sd) == ("t", None)
