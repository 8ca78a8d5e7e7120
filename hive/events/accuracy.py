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
    """Whether an alter that sent these parameters stores them as they are."""
    return NAME not in parameters or not is_transactional(parameters)


def is_of_many(told: Mapping[str, str] | None) -> bool:
    """Whether an event is one of many that tell of statistics which were written at once: then the
    rows of the partitions were held, and only this parameter is told."""
    return told is not None and told.keys() == {NAME}


def after_statistics(
    before: Mapping[str, str],
    told: Mapping[str, str],
    columns: Collection[str],
    *,
    transactional: bool,
) -> dict[str, str] | None:
    """The parameters of a partition of which statistics of some columns were written.

    None where it can't have been made from the parameters `before`, or doesn't tell what
    was stored.
    """
    rest = {key: value for key, value in before.items() if key != NAME}
    flag = told.get(NAME)
    if is_of_many(told):
        if transactional:
            return None
    elif {key: value for key, value in told.items() if key != NAME} != rest:
        return None
    if flag is None:
        return rest if transactional else None
    if not _extends(before.get(NAME), flag, columns):
        return None
    return {**rest, NAME: flag}


def _extends(before: str | None, after: str, columns: Collection[str]) -> bool:
    """Whether a flag is what became of another when statistics of some columns were written."""
    try:
        old = None if before is None else _decoder.decode(before)
        new = _decoder.decode(after)
    except msgspec.MsgspecError:
        return False
    names = set(columns) if old is None else {*map(str.lower, old.columns), *columns}
    return set(map(str.lower, new.columns)) == names and (old is None or new.basic == old.basic)
