"""The methods that the cache answers, from arguments to result structs."""

import asyncio
from collections.abc import Set
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from operator import or_
from struct import Struct as Packing
from typing import Any, Final

from hive.collation import BY_BYTES, Collation
from hive.errors import InputError, NoSuchObjectError, ThriftError, UnansweredError
from hive.thrift.binary import decode, encode
from hive.thrift.types import I64
from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.positions import Position
from query_api.reads.read import Read
from query_api.reasons import Reason, Source
from query_api.requirement import Requirement
from query_api.requirement_defaults import Defaults
from query_api.resolver.answer import Miss, ReadAnswer
from query_api.targets import Target
from query_api.thrift.call import Call, CallAnswer, Relay, RelayReason, Substitute
from query_api.thrift.methods.direct_read import DirectRead, Whole
from query_api.thrift.methods.dropped_methods import DROPPED, substitute
from query_api.thrift.methods.expressions import Expressions, expression_of, with_text
from query_api.thrift.methods.left_reads import LeftReads
from query_api.thrift.methods.method_table import Method, methods
from query_api.thrift.methods.ordering import ordered_by
from query_api.thrift.methods.outcome import STRUCT_ALONE, Outcome, result
from query_api.thrift.methods.request import Arguments, CacheRequest, Understood
from query_api.thrift.methods.transactions import OF_TRANSACTIONS

_CURRENT_EVENT: Final = "get_current_notificationEventId"
_REMEMBERED: Final = 4096
_REMEMBERED_BYTES_MAX: Final = 2048
AT_ONCE_BYTES_MAX: Final = 128 * 1024
"""Longer arguments are parsed in a thread, one call at a time, so that others needn't wait."""
_EVENT: Final = Packing("!bhqb").pack


class CachedMethods:
    """Answers calls from the cache where it may answer.

    Equal arguments are parsed only once; the answer is read each time.
    """

    def __init__(
        self,
        backend: Backend,
        defaults: Defaults,
        warehouse: str = "",
        expressions: Expressions | None = None,
        collation: Collation = BY_BYTES,
    ) -> None:
        """`expressions` reads serialized expressions; without it, the metastore answers."""
        self._collation = collation
        self._resolver = backend.resolver
        self._views = backend.views
        self._database = backend.database
        self._defaults = defaults
        self._expressions = expressions
        self._leaves_all = False
        self._left = LeftReads()
        self._open_txn_timeout_ms: int | None = None
        # More threads would not parse faster, but take more turns from the event loop.
        self._parser = ThreadPoolExecutor(1, "calls")
        self.set_warehouse(warehouse)

    def close(self) -> None:
        """Ends its thread."""
        self._parser.shutdown(wait=False, cancel_futures=True)

    def set_warehouse(self, warehouse: str) -> None:
        """Sets the metastore's warehouse for managed tables. Until then, reads of a database are
        left to the metastore.
        """
        self.warehouse = warehouse
        self._set_methods()

    def set_open_txn_timeout(self, timeout_ms: int) -> None:
        """Sets how long a metastore takes an id without a row for an open transaction; of several
        metastores the longest time counts. Until then, open transactions are left to the metastore.
        """
        self._open_txn_timeout_ms = max(timeout_ms, self._open_txn_timeout_ms or 0)
        self._set_methods()

    def _set_methods(self) -> None:
        self._methods = methods(self.warehouse, self._open_txn_timeout_ms)
        self._names = frozenset((*self._methods, _CURRENT_EVENT))
        self._remembered = lru_cache(_REMEMBERED)(self._understand)

    def leave_all(self) -> None:
        """Leaves all calls to metastores from now on, because names mean something else there."""
        self._leaves_all = True

    def leave(self, left: LeftReads) -> None:
        """Leaves these reads, too, to metastores from now on."""
        self._left = LeftReads(*map(or_, self._left, left))
        self._remembered.cache_clear()

    def set_collation(self, collation: Collation) -> None:
        """Sets the database's collation. Until then, calls that may depend on it are left to the
        metastore.
        """
        self._collation = collation
        self._remembered.cache_clear()

    @property
    def names(self) -> Set[str]:
        return self._names

    def answer_now(self, call: Call) -> CallAnswer | Relay | None:
        if self._leaves_all:
            return Relay(RelayReason.CATALOG)
        method = self._methods.get(call.method)
        if method is None or len(call.arguments) > AT_ONCE_BYTES_MAX:
            return None
        request: Understood | None = self._understood(call.method, call.arguments)
        if request is RelayReason.EXPRESSION:
            request = self._read_now(method, call)
        if request is None:
            return None
        if isinstance(request, RelayReason):
            return Relay(request)
        if isinstance(request.read, DirectRead):
            return None
        requirement = self._requirement(request, call)
        chain = _Chain(method, requirement)
        read: Read[Outcome] | None = request.read
        try:
            while read is not None:
                outcome = self._resolver.cached_now(read, requirement)
                if outcome is None:
                    return None
                if isinstance(outcome, Miss):
                    if _is_for_database(request, outcome):
                        return None
                    return self._missed(outcome, requirement)
                read = chain.follow(read, outcome)
        except InputError:
            return Relay(RelayReason.FORM)
        return chain.outcome

    async def answer(self, call: Call) -> CallAnswer | Relay:
        if self._leaves_all:
            return Relay(RelayReason.CATALOG)
        if call.method == _CURRENT_EVENT:
            return await self._current_event(call.min_position)
        method = self._methods[call.method]
        request = await self._understood_later(call.method, call.arguments)
        if request is RelayReason.EXPRESSION:
            request = await self._read(method, call)
        if isinstance(request, RelayReason):
            return Relay(request)
        if isinstance(request.read, DirectRead):
            return await self._from_database(
                method, request.read, call.min_position, Reason.DATABASE_ONLY
            )
        requirement = self._requirement(request, call)
        chain = _Chain(method, requirement)
        read: Read[Outcome] | None = request.read
        try:
            while read is not None:
                outcome = await self._resolver.cached(read, requirement)
                if isinstance(outcome, Miss):
                    if not _is_for_database(request, outcome):
                        return self._missed(outcome, requirement)
                    return await self._from_database(
                        method, request.read, call.min_position, outcome.reason
                    )
                read = chain.follow(read, outcome)
        except InputError:
            return Relay(RelayReason.FORM)
        return chain.outcome

    def may_be_dropped(self, method: str) -> bool:
        return method in DROPPED

    async def instead(self, call: Call) -> Substitute | None:
        try:
            if len(call.arguments) > AT_ONCE_BYTES_MAX:
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._parser, substitute, call)
            return substitute(call)
        except InputError:
            return None

    def _understood(self, name: str, arguments: bytes) -> Understood:
        if len(arguments) > _REMEMBERED_BYTES_MAX:
            return self._understand(name, arguments)
        return self._remembered(name, arguments)

    async def _understood_later(self, name: str, arguments: bytes) -> Understood:
        if len(arguments) > AT_ONCE_BYTES_MAX:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._parser, self._understand, name, arguments)
        return self._understood(name, arguments)

    def _understand(self, name: str, arguments: bytes) -> Understood:
        method = self._methods[name]
        try:
            understood = method.understand(decode(method.arguments, arguments))
            if isinstance(understood, RelayReason):
                return understood
            return self._left.why(understood.read) or ordered_by(self._collation, understood)
        except (ThriftError, KeyError):
            return RelayReason.UNREADABLE
        except InputError:
            return RelayReason.FORM

    def _read_now(self, method: Method, call: Call) -> Understood | None:
        """Parses a call with a serialized expression; None if reading the expression must be
        awaited.
        """
        if self._expressions is None:
            return RelayReason.EXPRESSION
        arguments = decode(method.arguments, call.arguments)
        text = self._expressions.at_once(expression_of(arguments))
        if text is None or isinstance(text, RelayReason):
            return text
        return self._understood(call.method, _with_text(method, arguments, text))

    async def _read(self, method: Method, call: Call) -> Understood:
        if self._expressions is None:
            return RelayReason.EXPRESSION
        arguments = decode(method.arguments, call.arguments)
        text = await self._expressions.text(expression_of(arguments))
        if isinstance(text, RelayReason):
            return text
        return await self._understood_later(call.method, _with_text(method, arguments, text))

    def _requirement(self, request: CacheRequest, call: Call) -> Requirement:
        consistency = Consistency.WRITE_IDS
        if request.write_ids is None:
            consistency = self._defaults.of(request.read)
        must_be_current, max_age_ms = self._defaults.bound(consistency)
        if call.age_ms_max is not None:
            max_age_ms = min(max_age_ms, call.age_ms_max) if must_be_current else call.age_ms_max
            must_be_current = True
        return Requirement(
            consistency,
            must_be_current,
            request.write_ids,
            request.table_id,
            min_position=call.min_position,
            max_age_ms=max_age_ms,
        )

    def _missed(self, miss: Miss, requirement: Requirement) -> Relay:
        self._resolver.record_miss(miss)
        if miss.reason is not Reason.NOT_OWNED:
            return Relay(miss.reason)
        return Relay(miss.reason, miss.shard, requirement.log_age_ms, requirement.age_ms_max)

    async def _from_database(
        self, method: Method, read: Read[Outcome], least: Position | None, reason: Reason
    ) -> CallAnswer | Relay:
        """Answers a call about what no event tells, by reads that begin now."""
        reached: list[Position] = []
        targets: list[Target] = []
        value: Outcome | NoSuchObjectError = read
        while isinstance(value, Read):
            targets += value.targets
            try:
                answer = await self._resolver.ask_database(Whole(value))
            except UnansweredError:
                return Relay(Reason.UNREAD)
            except InputError:
                return Relay(RelayReason.FORM)
            value, position = answer
            reached.append(position)
        if least is not None and min(reached) < least:
            return Relay(Reason.BEHIND)
        if isinstance(value, RelayReason):
            return Relay(value)
        assert not isinstance(value, NoSuchObjectError), "methods tell what isn't there by a value"
        data = result(method.shape, method.exceptions, value)
        tells_of: tuple[Target, ...] | None = tuple(dict.fromkeys(targets))
        if isinstance(read, DirectRead):
            # Transactions tell of nothing that the metastore guards; grants and functions do.
            tells_of = () if isinstance(read, OF_TRANSACTIONS) else None
        return CallAnswer(data, Source.DATABASE, reason, min(reached), targets=tells_of)

    async def _current_event(self, least: Position | None) -> CallAnswer | Relay:
        if not self._views.knows_epoch:
            return Relay(Reason.UNREAD)
        log_end = await self._database.after_now(self._views.reached)
        if log_end is None:
            return Relay(Reason.UNREAD)
        if least is not None and Position(log_end.epoch, log_end.current) < least:
            return Relay(Reason.BEHIND)
        event = STRUCT_ALONE.before + _EVENT(I64, 1, log_end.current, 0) + STRUCT_ALONE.after
        position = Position(log_end.epoch, log_end.current)
        return CallAnswer(event, Source.DATABASE, Reason.DATABASE_ONLY, position, targets=())


def _with_text(method: Method, arguments: Arguments, text: str) -> bytes:
    """The arguments of a call with a filter in place of its expression."""
    return encode(method.arguments, with_text(arguments, text))


def _is_for_database(request: CacheRequest, miss: Miss) -> bool:
    """Whether the database answers a miss that lasts as long as the object: to relay it again and
    again would take longer. Answers without a limit are left to the metastore.
    """
    return miss.reason is Reason.SILENT_LOG and not request.read.is_long


class _Chain:
    """A chain of reads: each is made from the previous result, and the last gives the answer."""

    def __init__(self, method: Method, requirement: Requirement) -> None:
        self._method = method
        self._requirement = requirement
        self._served: list[ReadAnswer[Outcome]] = []
        self._targets: tuple[Target, ...] = ()
        self.outcome: CallAnswer | Relay = Relay(RelayReason.FAILED)

    def follow(self, read: Read[Any], served: ReadAnswer[Outcome]) -> Read[Outcome] | None:
        """Takes the result of a read; returns the next read, or None with the outcome."""
        self._served.append(served)
        self._targets += read.targets
        value = served.value
        if isinstance(value, Read):
            return value
        if isinstance(value, RelayReason):
            self.outcome = Relay(value)
        else:
            assert not isinstance(value, NoSuchObjectError), (
                "methods tell what isn't there by a value"
            )
            self.outcome = self._answer(result(self._method.shape, self._method.exceptions, value))
        return None

    def _answer(self, data: Any) -> CallAnswer:
        first, *others = self._served
        moment, position = first.moment, first.position
        targets = tuple(dict.fromkeys(self._targets)) if others else self._targets
        for served in others:
            if served.moment != moment:
                moment = None
            position = min(position, served.position)
        if not isinstance(data, bytes):
            moment = None
        return CallAnswer(
            data,
            Source.CACHE,
            first.reason,
            position,
            moment,
            targets if moment is not None and self._requirement.must_be_current else (),
            self._requirement.max_age_ms,
            targets,
        )
