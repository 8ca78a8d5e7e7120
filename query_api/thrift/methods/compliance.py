"""Whether statistics are of the snapshot of their asker, as Hive decides it."""

import json
from collections.abc import Mapping

from hive.errors import InputError
from hive.write_ids.lists import WriteIdList

_ACCURATE = "COLUMN_STATS_ACCURATE"


def complies(parameters: Mapping[str, str], write_id: int, ids: WriteIdList) -> bool:
    """Whether what was computed at a write id holds for a reader with this list.

    What was written without a write id holds for everybody.
    """
    if write_id < 1:
        return True
    return _are_accurate(parameters.get(_ACCURATE)) and ids.is_valid(write_id)


def _are_accurate(text: str | None) -> bool:
    """Whether the figures of a whole table or partition are up to date."""
    if text is None:
        return False
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        told = json.loads(text)
    except ValueError:
        raise InputError(f"{_ACCURATE} is {text[:80]!r}") from None
    return isinstance(told, dict) and str(told.get("BASIC_STATS", "")).lower() == "true"
