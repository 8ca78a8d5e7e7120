"""What the metastore answered, as far as the fold of its log has it."""

import json
from typing import Any

COMPUTED_FOR_THE_CALLER = {"accessType"}
"""Fields of an answer that depend on the client's capabilities; nothing of them is stored."""
WITHOUT_EVENTS = {"databases": {"default"}}
"""Objects that were there before the log began."""
COLD_KEYS = {
    "tables": "tables",
    "partitions": "partitions",
    "table_statistics": "table_statistics",
    "partition_statistics": "partition_statistics",
    "constraints": "constraints",
    "valid_write_ids": "write_ids",
}


def stored(value: Any) -> Any:
    """An answer without what was computed for its caller, and without the order of constraints."""
    if isinstance(value, dict):
        return {
            key: stored(one) for key, one in value.items() if key not in COMPUTED_FOR_THE_CALLER
        }
    if isinstance(value, list):
        return [stored(one) for one in value]
    return value


def unordered(kinds: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {kind: sorted(found, key=json.dumps) for kind, found in kinds.items()}
