"""Readers in sessions, and what they got."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from hive.errors import InputError, MetatideError, NoSuchObjectError, UnansweredError
from hive.names import TableName
from query_api.positions import Position
from query_api.reads.databases import GetDatabase
from query_api.reads.partitions import GetPartition, ListPartitions
from query_api.reads.read import Read
from query_api.reads.tables import GetTable, ListTables
from query_api.reasons import Reason, Source
from query_api.requirement import Consistency, Requirement
from tests.simulation.content import KEY
from tests.simulation.database import Database, Moment
from tests.simulation.nodes import WorkerNode
from tests.simulation.scheduler import Scheduler
from tests.simulation.writes import DBS, PARTITIONS, TABLES

AGE_MS: Final = 100


class Question(NamedTuple):
    read: Read[Any]
    requirement: Requirement
    asked: Moment
    """What the client may know: the database when it asked."""


class Answered(NamedTuple):
    """An answer, and when it was asked for and given."""

    question: Question
    value: Any
    source: Source
    reason: Reason
    position: Position
    detail: str
    began_s: float
    ended_s: float


def question(
    database: Database,
    name: str,
    numbers: tuple[int, ...],
    reached: Position,
    about: TableName | None = None,
) -> Question:
    """A random question with this consistency; `reached` is what its session has seen."""
    now = database.now
    kind, place, value, wait, *_ = numbers
    there = list(now.content.tables)
    table = about or (there * 3 + list(TABLES))[place % (3 * len(there) + len(TABLES))]
    reads: list[Read[Any]] = [
        GetTable(table),
        GetTable(table),
        ListPartitions(table),
        ListPartitions(table),
        GetPartition(table, (KEY,), PARTITIONS[value % len(PARTITIONS)]),
        ListTables(DBS[value % len(DBS)]),
        GetDatabase(DBS[value % len(DBS)]),
    ]
    read = reads[kind % len(reads)]
    requirement = Requirement(Consistency(name), latest=False)
    match name:
        case "latest":
            wait_ms = (None, None, 0, 300)[wait % 4]
            requirement = Requirement(Consistency.LATEST, max_wait_ms=wait_ms)
        case "within":
            requirement = Requirement(Consistency.WITHIN, latest=True, max_age_ms=AGE_MS)
        case "at_least":
            least = (Position(reached.epoch, now.event), reached)[wait % 2]
            requirement = Requirement(Consistency.AT_LEAST, latest=False, min_position=least)
        case "write_ids":
            current = now.content.tables.get(table)
            if current is not None and current.row.managed:
                read = reads[kind % 5]
                requirement = Requirement(
                    Consistency.WRITE_IDS,
                    latest=False,
                    write_ids=now.valid_ids(table),
                    table_id=current.row.id,
                    accept_newer=bool(wait % 2),
                )
            else:
                requirement = Requirement(Consistency.LATEST)
    return Question(read, requirement, now)


class Clients:
    """A few sessions; each remembers the latest position that it has seen."""

    def __init__(
        self,
        scheduler: Scheduler,
        database: Database,
        workers: Sequence[WorkerNode],
        check: Callable[[Answered], None],
    ) -> None:
        self._workers = workers
        self._scheduler = scheduler
        self._database = database
        self._check = check
        self._reached: dict[int, Position] = {}
        self.asked_count = self.answered = self.cached = 0
        self.unanswered: list[str] = []

    def ask(self, name: str, numbers: tuple[int, ...], about: TableName | None = None) -> None:
        """Asks a worker: mostly the one that has the shard, as if another had forwarded it."""
        session = numbers[-1] % 3
        reached = self._reached.get(session, Position(0, 0))
        posed = question(self._database, name, numbers, reached, about)
        node = self._workers[numbers[0] % len(self._workers)]
        if numbers[-2] % 5:
            node = owner_of(self._workers, posed.read) or node
        if node.alive and node.backend is not None:
            self.asked_count += 1
            node.submit(partial(self._ask, node, posed, session, self._scheduler.now))

    async def _ask(self, node: WorkerNode, posed: Question, session: int, began_s: float) -> None:
        backend = node.backend
        if backend is None:
            return
        try:
            answer = await backend.resolver.answer(posed.read, posed.requirement)
        except UnansweredError as error:
            self.unanswered.append(str(error))
            return
        except (InputError, MetatideError) as error:
            if isinstance(error, NoSuchObjectError):
                raise
            self._scheduler.note(f"refused: {error}")
            return
        if not node.process.alive:
            return
        self.answered += 1
        self.cached += answer.source is Source.CACHE
        self._reached[session] = max(self._reached.get(session, answer.position), answer.position)
        self._check(
            Answered(
                posed,
                answer.value,
                answer.source,
                answer.reason,
                answer.position,
                answer.detail,
                began_s,
                self._scheduler.now,
            )
        )


def owner_of(workers: Sequence[WorkerNode], read: Read[Any]) -> WorkerNode | None:
    """The worker that holds the shard of a read."""
    for node in workers:
        if node.backend is None or node.worker is None or node.worker.topic is None:
            continue
        if node.backend.views.shard_of(read.targets[0]) in node.worker.shards:
            return node
    return None
