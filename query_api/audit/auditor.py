"""Compares scopes of the cache with the database, both as of the same event.

1. The shards' snapshots are taken first. Then one REPEATABLE READ transaction begins in the
   database and reads the sequence and the latest thin rows, so it is never older than the
   snapshots.
2. Objects that no row has touched since the snapshot must be identical in both. The others are
   compared again a little later.
3. Only what the cache would serve is compared.
"""

import asyncio
from collections.abc import Collection, Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Final, Protocol

from sqlalchemy.exc import SQLAlchemyError

from hive.errors import UnansweredError
from hive.reader.driver_errors import driver_reason
from hive.reader.snapshot import DatabaseSnapshot
from hive.reader.write_ids import loaded, read_write_ids
from hive.write_ids.lists import WriteIdList, write_id_list
from hive.write_ids.relations import equal
from query_api.audit.findings import DIFFERENCES_MAX, AuditResult, ObjectDifference, differing
from query_api.audit.object_pairs import Pair, pairs
from query_api.audit.scopes import targets_of
from query_api.cached_objects import CachedObjects
from query_api.database import DatabaseObjects
from query_api.facts import Facts
from query_api.latest import LogEnd, read_tail
from query_api.latest.log_end import marks_of
from query_api.latest.log_history import LogHistory
from query_api.latest.row_effects import effects_of
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.resolver.inspection import STORE_ERRORS
from query_api.resolver.shard_facts import read_facts
from query_api.shards import Views
from query_api.targets import Target, TargetKind
from state.records import Scope, ScopeKind
from state.shard_reader import ShardReader

TRIES: Final = 8
AGAIN_S: Final = 0.25
_OF_TRANSACTIONS: Final = frozenset(("COMMIT_TXN", "ABORT_TXN", "ALLOC_WRITE_ID_EVENT"))


class Moments(Protocol):
    """The metastore's database, which can be read as of one moment."""

    @property
    def history(self) -> LogHistory: ...

    def snapshot(self) -> AbstractContextManager[DatabaseSnapshot]: ...


class Auditor:
    """Audits in a thread of its own, one request at a time."""

    def __init__(self, views: Views, database: Moments) -> None:
        self.views = views
        self._database = database
        self._thread = ThreadPoolExecutor(1, "audit")

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def audit(self, scopes: Collection[Scope]) -> list[AuditResult]:
        """Compares the scopes in their order. Raises UnansweredError while the database is
        unavailable.
        """
        results: dict[Scope, AuditResult] = {}
        for attempt in range(TRIES):
            waiting = [scope for scope in scopes if scope not in results]
            if not waiting:
                break
            await asyncio.sleep(AGAIN_S if attempt else 0)
            results |= await self._try(waiting, is_last=attempt + 1 == TRIES)
        return [results[scope] for scope in scopes]

    async def _try(self, scopes: Sequence[Scope], *, is_last: bool) -> dict[Scope, AuditResult]:
        """Compares the scopes. Those that are changing are left out, except in the last attempt."""
        numbers = {scope: self._shard_of(scope) for scope in scopes}
        readers = {number: self.views.own_reader(number) for number in {*numbers.values()}}
        look_at: dict[Scope, ShardReader] = {}
        results: dict[Scope, AuditResult] = {}
        for scope, number in numbers.items():
            reader = readers[number]
            if reader is None:
                results[scope] = _all_left_out(scope, Reason.NOT_OWNED)
            else:
                look_at[scope] = reader
        if look_at:
            loop = asyncio.get_running_loop()
            results |= await loop.run_in_executor(self._thread, self._compare, look_at, is_last)
        return results

    def _shard_of(self, scope: Scope) -> int:
        return self.views.shard_of(targets_of(scope)[0])

    def _compare(
        self, readers: dict[Scope, ShardReader], is_last: bool
    ) -> dict[Scope, AuditResult]:
        try:
            with self._database.snapshot() as snapshot:
                moment = _Moment(self._database, snapshot, readers)
                results = {scope: moment.audited(scope) for scope in readers}
        except SQLAlchemyError as error:
            why = driver_reason(error)
            raise UnansweredError(f"the database can't be audited: {why}", 1.0) from error
        return {
            scope: result
            for scope, result in results.items()
            if is_last or not _MOVING & {*result.left_out.values()}
        }


_MOVING: Final[frozenset[str]] = frozenset((Reason.BEHIND, Reason.GAP))


class _Moment:
    """One moment of the database, and the shards' snapshots taken before it."""

    def __init__(
        self, database: Moments, snapshot: DatabaseSnapshot, readers: dict[Scope, ShardReader]
    ) -> None:
        self._history = database.history
        self._snapshot = snapshot
        self._readers = readers
        self._database = DatabaseObjects(snapshot)
        self._database.tables([scope.name for scope in readers if scope.kind is ScopeKind.TABLE])
        first = min(reader.head.applied for reader in readers.values())
        tail = read_tail(snapshot, first)
        self._epoch = max(reader.head.epoch for reader in readers.values())
        noted = [(row.event_id, effects_of(row)) for row in tail.rows]
        self._log = LogEnd(self._epoch, tail.current, noted, marks=marks_of(tail.rows))
        self._of_transactions = max(
            (row.event_id for row in tail.rows if row.event_type in _OF_TRANSACTIONS), default=0
        )

    def audited(self, scope: Scope) -> AuditResult:
        reader, current = self._readers[scope], self._log.current
        head = reader.head
        self._history.check_position(head.epoch, head.applied, current)
        if self._log.denies(Position(head.epoch, head.applied), head.mark):
            self._history.rewind(head.epoch)
        if head.epoch < self._epoch or self._history.is_rewound(head.epoch):
            return _all_left_out(scope, Reason.REWOUND)
        try:
            return self._compared(scope, reader)
        except STORE_ERRORS:
            return _all_left_out(scope, Reason.STORE_ERROR)

    def _compared(self, scope: Scope, reader: ShardReader) -> AuditResult:
        objects = wrong = 0
        differences: list[ObjectDifference] = []
        left_out: dict[str, str] = {}
        cache = CachedObjects(lambda _: reader)
        for target in targets_of(scope):
            facts = read_facts(reader, target, with_ids=False)
            why = self._why_left_out(facts, target)
            if why is not None:
                left_out[target.kind] = why
                continue
            for pair in pairs(cache, self._database, target):
                objects += 1
                if pair.cache == pair.database:
                    continue
                difference = _difference(
                    pair, silent=facts.silent if pair.silent is None else pair.silent
                )
                if difference is None:
                    continue
                wrong += not difference.silent
                if len(differences) < DIFFERENCES_MAX:
                    differences.append(difference)
        if scope.kind is ScopeKind.TABLE and TargetKind.TABLE not in left_out:
            for difference_of_ids in self._compare_write_ids(scope, reader, left_out):
                objects += 1
                wrong += difference_of_ids is not None
                differences += [] if difference_of_ids is None else [difference_of_ids]
        position = Position(reader.head.epoch, self._log.current)
        return AuditResult(scope, position, objects, wrong, differences, left_out)

    def _why_left_out(self, facts: Facts, target: Target) -> str | None:
        if facts.refused is not None:
            return f"{facts.refused}: {facts.detail}" if facts.detail else facts.refused.value
        blocked = self._log.about(target, facts.reached.event).blocked
        return None if blocked is None else blocked.value

    def _compare_write_ids(
        self, scope: Scope, reader: ShardReader, left_out: dict[str, str]
    ) -> Iterator[ObjectDifference | None]:
        """Compares which write ids are committed, as a check of a reader's list does. Yields None
        if they agree, and nothing if they can't be compared.
        """
        name, applied = scope.name, reader.head.applied
        state = reader.state(name)
        if state is None or not (state.managed and name.in_default_catalog):
            return
        ids = reader.write_ids(name)
        ours = ids.snapshot()
        if ours is None or ids.loading or ids.reflects > applied:
            left_out["write_ids"] = f"{Reason.COLD}: {ids.cold or 'loading'}"
            return
        if self._of_transactions > applied:
            left_out["write_ids"] = "in_flight"
            return
        rows = loaded(read_write_ids(self._snapshot, [name])[name], self._snapshot.position)
        theirs = write_id_list(rows.hwm, [id_ for _, id_ in rows.open], rows.aborted)
        if equal(theirs, ours):
            yield None
            return
        aborted = {*ours.aborted, *theirs.aborted}
        sides = (_as_thrift(write_ids, aborted) for write_ids in (ours, theirs))
        yield ObjectDifference("write ids", differing(*sides))


def _difference(pair: Pair, *, silent: bool) -> ObjectDifference | None:
    """What differs between the two objects; None if it is only a table's own write id."""
    ours, theirs = (
        None if parts is None else pair.read(parts) for parts in (pair.cache, pair.database)
    )
    fields = differing(ours, theirs)
    only_in = "database" if ours is None else "cache" if theirs is None else None
    if only_in is None and pair.label == "table":
        # An event may carry another write id than the metastore stores. Lists of ids are compared
        # apart.
        fields = [field for field in fields if field.field != "writeId"]
        if not fields:
            return None
    return ObjectDifference(pair.label, fields, only_in, silent)


def _as_thrift(ids: WriteIdList, aborted: Container[int]) -> dict[str, object]:
    """The write ids as TableValidWriteIds, without the ids that either side knows as aborted."""
    return {
        "writeIdHighWaterMark": ids.hwm,
        "invalidWriteIds": " ".join(str(id_) for id_ in ids.exceptions if id_ not in aborted),
        "minOpenWriteId": ids.min_open if ids.open else None,
    }


def _all_left_out(scope: Scope, reason: Reason) -> AuditResult:
    return AuditResult(scope, left_out={target.kind: reason.value for target in targets_of(scope)})
