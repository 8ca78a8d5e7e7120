"""Shadow mode: compares what the cache would have answered with the metastore's replies."""

import asyncio
import time
from collections import deque
from typing import Final

import msgspec
import structlog

from hive.errors import MetatideError, UpstreamError
from hive.thrift.plain_values import Value, differences, parse, shown
from query_api.background_tasks import Background
from query_api.reasons import Reason
from query_api.thrift.call import Call, CallAnswer, Methods
from query_api.thrift.metastore.link import ask
from query_api.thrift.metastore.upstream import Introduction, Upstreams
from query_api.thrift.metrics import Metrics
from query_api.thrift.protocol.wire import MessageType
from query_api.thrift.results import whole

AT_A_TIME: Final = 4
WAITING_MAX: Final = 200
PATIENCE_S: Final = 60.0
"""A metastore that takes longer isn't compared: another call would wait for its turn."""
ROUNDS: Final = 3
"""The number of attempts to compare a call: the metastore may change between the two answers."""
REMEMBERED: Final = 100
PATHS_MAX: Final = 5
# Fields of a table.
_STORAGE, _TYPE, _TEMPORARY = 7, 12, 14

log = structlog.get_logger(__name__)


class Outcome:
    """The outcome of a comparison, by its name in the metric."""

    EQUAL: Final = "equal"
    REORDERED: Final = "reordered"
    DIFFERENT: Final = "different"
    MISS: Final = "miss"
    ELSEWHERE: Final = "elsewhere"
    """Another worker has the shard; it compares the calls of its own clients."""
    FAILED: Final = "failed"
    SKIPPED: Final = "skipped"


class Difference(msgspec.Struct, frozen=True):
    """A call to which cache and metastore have different answers."""

    at_s: float
    method: str
    arguments: str
    position: str
    places: list[tuple[str, str, str]]
    """The differing values: their path of field ids, the cache's value, and the metastore's."""
    user: str = ""
    """The client's user, if it is known."""


class Shadow:
    """Compares after the client has its reply, without delaying it."""

    def __init__(self, methods: Methods, upstreams: Upstreams, metrics: Metrics) -> None:
        self.differences: deque[Difference] = deque(maxlen=REMEMBERED)
        self._methods = methods
        self._upstreams = upstreams
        self._metrics = metrics
        self._turn = asyncio.Semaphore(AT_A_TIME)
        self._background = Background()

    def compare(self, call: Call, theirs: bytes | None, introduction: Introduction) -> None:
        """Compares a call's answers. `theirs` is the metastore's result, if it gave one that can be
        compared.
        """
        if theirs is None or len(self._background) >= WAITING_MAX:
            self._metrics.of(call.method).shadowed[Outcome.SKIPPED] += 1
            return
        self._background.start(self._compare(call, theirs, introduction))

    async def close(self) -> None:
        await self._background.close()

    async def _compare(self, call: Call, theirs: bytes, introduction: Introduction) -> None:
        async with self._turn:
            try:
                outcome = await self._outcome(call, theirs, introduction)
            except (MetatideError, TimeoutError) as error:
                why = str(error) or f"no reply within {PATIENCE_S:g} s"
                log.info("a comparison in shadow mode failed", method=call.method, error=why)
                outcome = Outcome.FAILED
        self._metrics.of(call.method).shadowed[outcome] += 1

    async def _outcome(self, call: Call, theirs: bytes, introduction: Introduction) -> str:
        rounds = 1
        while True:
            answer = self._methods.answer_now(call) or await self._methods.answer(call)
            if not isinstance(answer, CallAnswer):
                elsewhere = answer.reason is Reason.NOT_OWNED
                return Outcome.ELSEWHERE if elsewhere else Outcome.MISS
            ours = await whole(answer.result)
            if ours == theirs:
                return Outcome.EQUAL
            values = _plain(parse(ours)), _plain(parse(theirs))
            if _same(*values):
                return Outcome.EQUAL
            if _same(*map(_sorted, values)):
                return Outcome.REORDERED
            if rounds == ROUNDS:
                self._note(call, answer, *values)
                return Outcome.DIFFERENT
            rounds += 1
            theirs = await self._ask_again(call, introduction)

    async def _ask_again(self, call: Call, introduction: Introduction) -> bytes:
        other = await self._methods.instead(call)
        method, arguments = call.method, call.arguments
        if other is not None:
            method, arguments = other.method, other.arguments
        link = await self._upstreams.open(introduction)
        try:
            async with asyncio.timeout(PATIENCE_S):
                kind, result = await ask(link, method, arguments)
        finally:
            link.close()
        if kind != MessageType.REPLY:
            raise UpstreamError("the metastore answers by an exception of the protocol")
        return result if other is None else other.translated(result)

    def _note(self, call: Call, answer: CallAnswer, ours: Value, theirs: Value) -> None:
        places = [
            (path, shown(our_value), shown(their_value))
            for path, our_value, their_value in _first(ours, theirs)
        ]
        difference = Difference(
            time.time(),
            call.method,
            shown(parse(call.arguments)),
            str(answer.position),
            places,
            call.client.user,
        )
        self.differences.append(difference)
        log.warning(
            "the cache would have answered differently",
            method=difference.method,
            arguments=difference.arguments,
            position=difference.position,
            places=places,
            user=difference.user,
        )


def _first(ours: Value, theirs: Value) -> list[tuple[str, Value, Value]]:
    first = []
    for difference in differences(ours, theirs):
        first.append(difference)
        if len(first) == PATHS_MAX:
            break
    return first


def _same(ours: Value, theirs: Value) -> bool:
    """Whether two results are the same. Exceptions are compared by type alone; their messages are
    for people.
    """
    if 0 in ours or 0 in theirs:
        return bool(ours == theirs)
    return bool(ours.keys() == theirs.keys())


def _plain(value: Value) -> Value:
    """The value without fields that mean the same as unset ones, such as a table's flag `temporary`
    that is false.
    """
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    is_table = isinstance(value.get(_STORAGE), dict) and isinstance(value.get(_TYPE), bytes)
    return {
        key: _plain(item)
        for key, item in value.items()
        if not (is_table and key == _TEMPORARY and item is False)
    }


def _sorted(result: Value) -> Value:
    """The result with its list sorted, because the metastore promises no order."""
    value = result.get(0)
    return {**result, 0: sorted(value, key=repr)} if isinstance(value, list) else result
