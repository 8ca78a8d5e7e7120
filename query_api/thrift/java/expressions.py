"""Reads Hive's serialized expressions as the text of filters.

Hive sends conditions on partitions as its compiler's objects, serialized by Kryo, and the metastore
turns them into a filter with a class of Hive's. This module does the same, in a Java process beside
the worker.
"""

import asyncio
from collections import Counter as Counts
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Final

import msgspec
import structlog

from hive.errors import JavaError
from hive.names import DEFAULT_PARTITION
from query_api.thrift.call import RelayReason
from query_api.thrift.java.gateway import Gateway

EXPRESSION_BYTES_MAX: Final = 256 * 1024
WAITING_MAX: Final = 64
REMEMBERED: Final = 4096
REMEMBERED_BYTES_MAX: Final = 16 << 20
BACK_OFF_S: Final = 1.0
BACK_OFF_S_MAX: Final = 300.0
READER: Final = "org.apache.hadoop.hive.ql.optimizer.ppr.PartitionExpressionForMetastore"
"""Hive's class that turns expressions into filters."""

log = structlog.get_logger(__name__)


class JavaSettings(msgspec.Struct, frozen=True):
    """How to run the Java process."""

    program: Path
    classpath: str
    """The classpath of hive-exec and the jars that it needs."""


class Expressions:
    """Reads expressions in a Java process that is started for the first of them.

    1. No call waits for a start: until the process is up, the metastore answers.
    2. A process that fails is ended and restarted, after a growing delay.
    3. Results are remembered, failures included.
    """

    def __init__(self, settings: JavaSettings) -> None:
        self._settings = settings
        self._gateway: Gateway | None = None
        self._reader = ""
        self._starting: asyncio.Task[None] | None = None
        self._not_before = 0.0
        self._failures = 0
        self._asking: dict[bytes, asyncio.Task[str | RelayReason]] = {}
        self._remembered: OrderedDict[bytes, str | RelayReason] = OrderedDict()
        self._remembered_bytes = 0
        self._outcomes: Counts[str] = Counts()

    @property
    def outcomes(self) -> Mapping[str, int]:
        """How many expressions were read, by outcome."""
        return self._outcomes

    def at_once(self, expression: bytes) -> str | RelayReason | None:
        """The result, if it is available at once; None if `text` must be awaited."""
        remembered = self._remembered.get(expression)
        if remembered is not None:
            self._remembered.move_to_end(expression)
            return self._counted("remembered", remembered)
        if len(expression) > EXPRESSION_BYTES_MAX:
            return self._counted("too_long")
        if self._gateway is None:
            self._start()
            return self._counted("not_running")
        if len(self._asking) >= WAITING_MAX:
            return self._counted("busy")
        return None

    async def text(self, expression: bytes) -> str | RelayReason:
        remembered = self.at_once(expression)
        if remembered is not None:
            return remembered
        task = self._asking.get(expression)
        if task is None:
            assert self._gateway is not None
            task = asyncio.get_running_loop().create_task(self._ask(self._gateway, expression))
            self._asking[expression] = task
        # The caller may be cancelled, but the result must still be read.
        return await asyncio.shield(task)

    async def close(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
            with suppress(asyncio.CancelledError):
                await self._starting
        gateway, self._gateway = self._gateway, None
        if gateway is not None:
            await gateway.close()
        await asyncio.gather(*self._asking.values())

    async def _ask(self, gateway: Gateway, expression: bytes) -> str | RelayReason:
        try:
            text = await gateway.call(
                self._reader, "convertExprToFilter", expression, DEFAULT_PARTITION, False
            )
        except JavaError as error:
            await self._failed(gateway, error)
            return self._counted("failed")
        finally:
            del self._asking[expression]
        self._failures = 0
        outcome = text or RelayReason.EXPRESSION
        self._remember(expression, outcome)
        return self._counted("read" if text else "unreadable", outcome)

    def _counted(
        self, outcome: str, text: str | RelayReason = RelayReason.EXPRESSION
    ) -> str | RelayReason:
        self._outcomes[outcome] += 1
        return text

    def _start(self) -> None:
        under_way = self._starting is not None and not self._starting.done()
        if not under_way and monotonic() >= self._not_before:
            self._starting = asyncio.get_running_loop().create_task(self._begin())

    async def _begin(self) -> None:
        gateway = None
        try:
            gateway = await Gateway.start(self._settings.program, self._settings.classpath)
            self._reader = await gateway.new(READER)
            self._gateway, gateway = gateway, None
        except JavaError as error:
            self._put_off(error)
        finally:
            if gateway is not None:
                await gateway.close()

    async def _failed(self, gateway: Gateway, error: JavaError) -> None:
        if self._gateway is gateway:
            self._gateway = None
            self._put_off(error)
            await gateway.close()

    def _put_off(self, error: JavaError) -> None:
        wait_s = min(BACK_OFF_S * 2**self._failures, BACK_OFF_S_MAX)
        self._failures = min(self._failures + 1, 20)
        self._not_before = monotonic() + wait_s
        log.warning(
            "expressions can't be read: the metastore answers those calls",
            error=str(error),
            again_in_s=wait_s,
        )

    def _remember(self, expression: bytes, outcome: str | RelayReason) -> None:
        self._remembered[expression] = outcome
        self._remembered_bytes += len(expression) + len(outcome)
        while len(self._remembered) > REMEMBERED or self._remembered_bytes > REMEMBERED_BYTES_MAX:
            oldest, text = self._remembered.popitem(last=False)
            self._remembered_bytes -= len(oldest) + len(text)
