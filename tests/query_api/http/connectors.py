"""Connectors as a worker sees them."""

from hive.errors import TopicError
from state.records.signals import AnySignal


class Connectors:
    """Where orders go."""

    def __init__(self, *, away: bool = False) -> None:
        self.orders: list[AnySignal] = []
        self._away = away

    async def order(self, signal: AnySignal) -> None:
        if self._away:
            raise TopicError("the topic is away")
        self.orders.append(signal)
