"""What the fold asks of others. It is a value: sending it is the driver's business."""

from typing import NamedTuple

from state.records import Scope


class Signal(NamedTuple):
    """Somebody should load this; a load that began to read at or after `floor` answers it."""

    scope: Scope
    floor: int
