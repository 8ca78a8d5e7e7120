"""When expressions are read, and when that is left to the metastore."""

import asyncio
from collections.abc import Callable
from time import monotonic

import structlog.testing

from hive.errors import JavaError
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


class Broken(Reads):
    """A gateway whose process has gone."""

    closed_count = 0

    async def call(self, *given: object) -> str | None:
        await super().call(*given)
        raise JavaError("no answer")

    async def close(self) -> None:
        self.closed_count += 1


async def test_a_process_that_fails_is_ended_once_and_another_begun_after_a_while() -> None:
    gateway = Broken(None)
    reader = reading(gateway)
    asking = [asyncio.create_task(reader.text(expression)) for expression in (b"\1a", b"\1b")]
    await until(lambda: gateway.asked_count == 2)
    with structlog.testing.capture_logs() as logs:
        gateway.go_on.set()
        assert await asyncio.gather(*asking) == [RelayReason.EXPRESSION] * 2
    assert [entry["error"] for entry in logs] == ["no answer"]
    assert gateway.closed_count == 1
    assert await reader.text(b"\1a") is RelayReason.EXPRESSION
    assert reader._starting is None, "it waits before it begins again"
    assert reader.outcomes == {"failed": 2, "not_running": 1}
    await reader.close()
