"""What a fault may touch."""

from dataclasses import dataclass

from tests.torture.history import Truth
from tests.torture.stand import Stand
from tests.torture.writing import Writers


@dataclass(frozen=True)
class Parts:
    """The stack, its writers, and the history that they wrote."""

    stand: Stand
    truth: Truth
    writers: Writers
