"""The headers by which a request states a requirement."""

from collections.abc import Mapping
from typing import Final

from starlette.types import Scope

from hive.errors import InputError
from query_api.consistency import Consistency
from query_api.http.messages import Headers
from query_api.requirement import PARAMETERS, Requirement

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


def headers_of(requirement: Requirement) -> Headers:
    """The headers that state a requirement on several tables. Without them, an owner would go by
    the defaults of its part alone, which may be laxer than those of the whole.
    """
    headers = [_consistency(requirement)]
    if requirement.min_position is not None:
        headers.append((b"metatide-min-position", str(requirement.min_position).encode()))
    if requirement.max_wait_ms is not None:
        headers.append((b"metatide-max-wait-ms", b"%d" % requirement.max_wait_ms))
    return headers


def headers_by_default(conditions: Mapping[str, str], requirement: Requirement) -> Headers:
    """The headers that state the consistency to an owner where the request names none: the owner's
    default may be laxer than the one here, as while the setting is changed.
    """
    if "consistency" in conditions or "write_ids" in conditions:
        return []
    return [_consistency(requirement)]


def _consistency(requirement: Requirement) -> tuple[bytes, bytes]:
    consistency: str = requirement.consistency
    age_ms = requirement.age_ms_max
    if age_ms is not None:
        consistency = f"{Consistency.WITHIN}; max_age_ms={age_ms}" if age_ms else Consistency.LATEST
    return b"metatide-consistency", consistency.encode()
