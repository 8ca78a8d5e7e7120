"""The signals that the fold emits. They are values: sending them is up to the driver."""

from typing import NamedTuple

from state.records import Scope


class Signal(NamedTuple):
    """A request for a load; a load that began to read at or after `floor` answers it."""

    scope: Scope
    floor: int
