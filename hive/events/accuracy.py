"""The parameter COLUMN_STATS_ACCURATE, which lets engines answer queries from statistics.

Its value is JSON: `{"BASIC_STATS":"true","COLUMN_STATS":{"a":"true"}}`. The metastore itself
changes it when statistics are written. It removes it from a transactional object if the caller's
snapshot, which isn't in the log, lacks the write that the statistics describe.
"""

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from hive.errors import UNDECODABLE
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
    """Whether an event is one of several about statistics of partitions that were written at once:
    then the writer had locked their rows, and the event has only this parameter."""
    return parameters is not None and parameters.keys() == {NAME}


def after_statistics(
    before: Mapping[str, str],
    parameters: Mapping[str, str],
    columns: Collection[str],
    *,
    transactional: bool,
) -> dict[str, str] | None:
    """The parameters of a partition after statistics of some columns were written.

    None when the event's parameters can't result from `before`, or when it doesn't say what was
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
    """Whether writing statistics of these columns turns the flag `before` into `after`."""
    try:
        old = None if before is None else _decoder.decode(before)
        new = _decoder.decode(after)
    except UNDECODABLE:
        return False
    names = set(columns) if old is None else {*map(str.lower, old.columns), *columns}
    return set(map(str.lower, new.columns)) == names and (old is None or new.basic == old.basic)
