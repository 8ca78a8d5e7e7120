"""When expressions are read, and when that is left to the metastore."""

import asyncio
from collections.abc import Callable
from time import monotonic

from metatide.stack.java import find_java
from query_api.thrift.call import RelayReason
from query_api.thrift.java import expressions
from query_api.thrift.java.expressions import EXPRESSION_BYTES_MAX, Expressions, JavaSettings

PATIENCE_S = 60.0


class Reads:
    """A gateway whose answers are decided here."""

    def __init__(self, text: str | None) -> None:
        self.text = text
        self.asked_count = 0
        self.go_on = asyncio.Event()

    async def call(self, *given: object) -> str | None:
        self.asked_count += 1
        await self.go_on.wait()
        return self.text

    async def close(self) -> None:
        self.go_on.set()


def reading(gateway: Reads) -> Expressions:
    found = Expressions(JavaSettings(find_java(), "."))
    found._gateway = gateway  # type: ignore[assignment]
    return found


async def until(condition: Callable[[], bool]) -> None:
    deadline = monotonic() + PATIENCE_S
    while not condition():
        assert monotonic() < deadline
        await asyncio.sleep(0.01)


async def test_without_hives_classes_the_metastore_answers() -> None:
    reader = Expressions(JavaSettings(find_java(), "."))
    assert await reader.text(b"\1a") is RelayReason.EXPRESSION
    assert reader._starting is not None
    await reader._starting
    assert reader._gateway is None
    assert reader._not_before > monotonic()
    assert await reader.text(b"\1a") is RelayReason.EXPRESSION
    assert reader._starting.done(), "it waits before it begins again"
    await reader.close()
    assert reader.outcomes == {"not_running": 2}


async def test_equal_ones_are_read_once_and_remembered() -> None:
    gateway = Reads("a = 1")
    reader = reading(gateway)
    assert reader.at_once(b"\1a") is None
    asking = [asyncio.create_task(reader.text(b"\1a")) for _ in range(5)]
    await until(lambda: gateway.asked_count > 0)
    asking.pop().cancel()
    gateway.go_on.set()
    assert await asyncio.gather(*asking) == ["a = 1"] * 4
    assert gateway.asked_count == 1
    assert reader.at_once(b"\1a") == "a = 1"
    gateway.text = None
    assert await reader.text(b"\1b") is RelayReason.EXPRESSION
    assert reader.at_once(b"\1b") is RelayReason.EXPRESSION
    assert reader.at_once(b"\1" * (EXPRESSION_BYTES_MAX + 1)) is RelayReason.EXPRESSION
    assert reader.outcomes == {"read": 1, "unreadable": 1, "remembered": 2, "too_long": 1}
    await reader.close()


async def test_there_are_limits() -> None:
    gateway = Reads("a = 1")
    reader = reading(gateway)
    asking = [
        asyncio.create_task(reader.text(bytes((1, number))))
        for number in range(expressions.WAITING_MAX)
    ]
    await until(lambda: gateway.asked_count == expressions.WAITING_MAX)
    assert reader.at_once(b"\1more") is RelayReason.EXPRESSION
    gateway.go_on.set()
    await asyncio.gather(*asking)
    big = EXPRESSION_BYTES_MAX - 8
    for number in range(100):
        await reader.text(number.to_bytes(8) + bytes(big))
    assert reader._remembered_bytes <= expressions.REMEMBERED_BYTES_MAX
    assert sum(map(len, reader._remembered)) <= expressions.REMEMBERED_BYTES_MAX
    assert reader.at_once((99).to_bytes(8) + bytes(big)) == "a = 1"
    await reader.close()
