"""Describes the records of the events topic: tables for readers, a JSON Schema for programs."""

import inspect
import json
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from connectors.feed.feed_formats import CloudEvent, FeedLine
from hive.names import DatabaseName, TableName
from query_api.http.operation import with_clean_descriptions
from state.records import AnyRecord, Rows, Scope
from state.records.actions import AnyAction, Side
from state.records.objects import (
    ColumnStatisticsImage,
    ConstraintImage,
    DatabaseImage,
    FunctionImage,
    NameImage,
    PartitionImage,
    TableImage,
    WriteIdsImage,
)

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


class Chapter(NamedTuple):
    title: str
    structs: tuple[type, ...]


CHAPTERS = (
    Chapter("Record types", get_args(AnyRecord)),
    Chapter("Actions of a Change", get_args(AnyAction)),
    Chapter("What loads read", (Scope, Rows)),
    Chapter(
        "Objects",
        (
            TableImage,
            PartitionImage,
            ColumnStatisticsImage,
            ConstraintImage,
            NameImage,
            FunctionImage,
            DatabaseImage,
            WriteIdsImage,
        ),
    ),
    Chapter("Names", (TableName, DatabaseName)),
)


def record_tables() -> Iterator[str]:
    """A chapter for each kind of struct: its place in the array, its name and its type."""
    for chapter in CHAPTERS:
        yield from (f"## {chapter.title}", "")
        for struct in chapter.structs:
            yield from (f"### {struct.__name__}", "", inspect.cleandoc(struct.__doc__ or ""), "")
            yield from ("| place | field | type |", "| --- | --- | --- |")
            yield from (f"| {' | '.join(cells)} |" for cells in _rows(struct))
            yield ""


def record_schema() -> str:
    """The JSON Schema of records: MessagePack arrays as JSON, with bytes in base64."""
    schema = msgspec.json.schema(AnyRecord)
    schema["$defs"] = with_clean_descriptions(schema["$defs"])
    # msgspec leaves out flags that are made of others.
    schema["$defs"]["Side"]["enum"] = [side.value for side in Side.__members__.values()]
    return _written({"$schema": _DRAFT, "title": "Record", **schema})


def feed_schema() -> str:
    """The JSON Schema of the lines that `metatide topic export` prints."""
    forms, structs = msgspec.json.schema_components(
        (FeedLine, CloudEvent), ref_template="#/$defs/{name}"
    )
    return _written(
        {
            "$schema": _DRAFT,
            "title": "Line",
            "anyOf": list(forms),
            "$defs": with_clean_descriptions(structs),
        }
    )


def _written(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def _rows(struct: type) -> Iterator[tuple[str, str, str]]:
    tag = getattr(getattr(struct, "__struct_config__", None), "tag", None)
    names = getattr(struct, "__struct_fields__", None) or getattr(struct, "_fields", ())
    first = 0
    if tag is not None:
        yield "0", "", f"the text `{tag}`"
        first = 1
    hints = get_type_hints(struct, include_extras=True)
    for place, name in enumerate(names, first):
        yield str(place), f"`{name}`", f"`{_type(hints[name])}`".replace("|", "\\|")


def _type(hint: Any) -> str:
    """A type in the words of a reader who doesn't know Python."""
    if get_origin(hint) is Annotated:
        return _type(get_args(hint)[0])
    arguments = get_args(hint)
    if get_origin(hint) is tuple and arguments[-1] is Ellipsis:
        return f"list of {_type(arguments[0])}"
    if get_origin(hint) is tuple:
        return f"array of {', '.join(map(_type, arguments))}"
    if get_origin(hint) is dict:
        return f"map of {_type(arguments[0])} to {_type(arguments[1])}"
    if hint == AnyAction:
        return "action"
    if arguments:
        return " or ".join(map(_type, arguments))
    names = {type(None): "nil", str: "text", int: "integer", bool: "boolean", bytes: "bytes"}
    return names.get(hint, hint.__name__)
