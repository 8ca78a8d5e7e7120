"""The parameter COLUMN_STATS_ACCURATE, by which engines answer queries from statistics.

Its value is JSON: `{"BASIC_STATS":"true","COLUMN_STATS":{"a":"true"}}`. The metastore changes it by
itself where statistics are written, and takes it away from transactional objects where its caller's
snapshot doesn't hold the write that the statistics are of. The log doesn't tell that snapshot.
"""

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from hive.thrift.canonical import is_transactional

NAME: Final = "COLUMN_STATS_ACCURATE"


class _Accuracy(msgspec.Struct):
    basic: str = msgspec.field(default="", name="BASIC_STATS")
    columns: dict[str, str] = msgspec.field(default_factory=dict, name="COLUMN_STATS")


_decoder = msgspec.json.Decoder(_Accuracy)


def is_decided(parameters: Mapping[str, str]) -> bool:
    """Whether an alter that sends these parameters stores them unchanged."""
    return NAME not in parameters or not is_transactional(parameters)


def is_of_many(parameters: Mapping[str, str] | None) -> bool:
    """Whether an event is one of many about statistics that were written at once: its writer held
    the rows of the partitions, and the event has only this parameter."""
    return parameters is not None and parameters.keys() == {NAME}


def after_statistics(
    before: Mapping[str, str],
    parameters: Mapping[str, str],
    columns: Collection[str],
    *,
    transactional: bool,
) -> dict[str, str] | None:
    """The parameters of a partition after statistics of some columns were written.

    None when they can't follow from the parameters `before`, or when the event doesn't say what was
    stored.
    """
    rest = {key: value for key, value in before.items() if key != NAME}
    flag = parameters.get(NAME)
    if is_of_many(parameters):
        if transactional:
            return None
    elif {key: value for key, value in parameters.items() if key != NAME} != rest:
        return None
    if flag is None:
        return rest if transactional else None
    if not _extends(before.get(NAME), flag, columns):
        return None
    return {**rest, NAME: flag}


def _extends(before: str | None, after: str, columns: Collection[str]) -> bool:
    """Whether a flag follows from another by writing statistics of some columns."""
    try:
        old = None if before is None else _decoder.decode(before)
        new = _decoder.decode(after)
    except msgspec.MsgspecError:
        return False
    names = set(columns) if old is None else {*map(str.lower, old.columns), *columns}
    return set(map(str.lower, new.columns)) == names and (old is None or new.basic == old.basic)
