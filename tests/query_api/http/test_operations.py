"""That the document tells of the paths beside the reads what they are."""

from typing import Any

import jsonschema
import pytest

from query_api.admin import Administration
from query_api.audit import Auditor, audit_routes
from query_api.http.access import OPEN
from query_api.http.openapi import _schemas, document
from query_api.http.operations import OPERATIONS, Operation, schemas
from query_api.shards import Views
from tests.query_api.http.asking import get
from tests.query_api.http.test_allowed import Connectors
from tests.query_api.http.test_answers import warm
from tests.query_api.shards import MemoryShard, MemoryShards


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.id)
def test_examples_have_the_form_that_is_told(operation: Operation) -> None:
    told = document()
    described = told["paths"][operation.path][operation.method]
    contents = [described["responses"]["200"]["content"]]
    if operation.body is not None:
        contents.append(described["requestBody"]["content"])
    for content in contents:
        media: dict[str, Any] = content["application/json"]
        schema = {**media["schema"], "components": told["components"]}
        jsonschema.Draft202012Validator(schema).validate(media["example"])


def test_what_is_answered_has_the_form_that_is_told() -> None:
    told = document()
    [answer] = get(warm(), "/v1/overview")
    schema = {"$ref": "#/components/schemas/Overview", "components": told["components"]}
    jsonschema.Draft202012Validator(schema).validate(answer.json())


def test_no_order_and_no_audit_is_left_out() -> None:
    views = Views(MemoryShards(MemoryShard()))
    auditor = Auditor(views, None)  # type: ignore[arg-type]
    routes = [*Administration(views, Connectors()).routes(OPEN), *audit_routes(auditor, OPEN)]
    auditor.close()
    served = {
        (route.path, method.lower())  # type: ignore[attr-defined]
        for route in routes
        for method in route.methods - {"HEAD"}  # type: ignore[attr-defined]
    }
    administered = {(one.path, one.method) for one in OPERATIONS if one.is_for_administrators}
    assert served == administered


def test_no_struct_has_the_name_of_another() -> None:
    assert not schemas().keys() & (_schemas().keys() | {"Problem", "Names"})
