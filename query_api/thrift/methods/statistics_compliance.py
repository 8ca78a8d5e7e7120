"""Whether statistics fit the snapshot of a reader, by Hive's rules."""

import json
from collections.abc import Mapping
from typing import Any

from hive.errors import InputError
from hive.write_ids.lists import WriteIdList

_ACCURATE = "COLUMN_STATS_ACCURATE"


def complies(parameters: Mapping[str, str], write_id: int, ids: WriteIdList) -> bool:
    """Whether statistics written with a write id hold for a reader with this list.

    Statistics written without a write id hold for every reader.
    """
    if write_id < 1:
        return True
    return _are_accurate(parameters.get(_ACCURATE)) and ids.is_valid(write_id)


def columns_with_statistics(parameters: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that have statistics, according to the table's or partition's parameters."""
    columns = _read_accuracy(parameters.get(_ACCURATE)).get("COLUMN_STATS", {})
    return tuple(columns) if isinstance(columns, dict) else ()


def _are_accurate(text: str | None) -> bool:
    """Whether the statistics of a whole table or partition are up to date."""
    if text is not None and text.lower() == "true":
        return True
    return str(_read_accuracy(text).get("BASIC_STATS", "")).lower() == "true"


def _read_accuracy(text: str | None) -> dict[str, Any]:
    if text is None or text.lower() in ("true", "false"):
        return {}
    try:
        accuracy = json.loads(text)
    except (ValueError, RecursionError):
        accuracy = None
    if not isinstance(accuracy, dict):
        raise InputError(f"{_ACCURATE} is {text[:80]!r}")
    return accuracy
