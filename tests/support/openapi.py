"""Schemas of an OpenAPI document."""

from typing import Any

from jsonschema import Draft202012Validator


def validator(document: Any, schema: Any) -> Draft202012Validator:
    """A validator of one schema, whose references point into the document."""
    return Draft202012Validator({**schema, "components": document["components"]})


def closed(schema: Any) -> Any:
    """The schema, changed so that objects may only have the fields that it lists."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed_schema = {name: closed(one) for name, one in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        closed_schema.setdefault("additionalProperties", False)
    return closed_schema
