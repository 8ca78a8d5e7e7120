"""The headers by which a request states a requirement."""

from collections.abc import Mapping
from typing import Final

from starlette.types import Scope

from hive.errors import InputError
from query_api.requirement import PARAMETERS

REQUIREMENTS: Final = {f"metatide-{name.replace('_', '-')}".encode(): name for name in PARAMETERS}
"""The headers that state a requirement, and its parameter."""


def required_by_headers(scope: Scope) -> Mapping[str, str]:
    """What headers require. None may come twice: readers of one would take the first, others the
    last."""
    required: dict[str, str] = {}
    for name, value in scope["headers"]:
        condition = REQUIREMENTS.get(name)
        if condition is None:
            continue
        if condition in required:
            raise InputError(f"give the header {name.decode()} once")
        required[condition] = value.decode("latin-1")
    return required
