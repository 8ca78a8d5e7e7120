"""Readers in sessions."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from hive.errors import (
    InputError,
    MetatideError,
    NoSuchObjectError,
    UnansweredError,
    UpstreamError,
)
from hive.names import DEFAULT_CATALOG, TableName
from query_api.positions import Position, parse_position
from query_api.reads.read import Read
from query_api.reads.tables import GetTable
from query_api.reasons import Reason, Source
from query_api.requirement import Requirement
from query_api.requirement_defaults import Defaults
from query_api.resolver.answer import ReadAnswer
from query_api.thrift.protocol.wire import MessageType
from tests.simulation.database import Database
from tests.simulation.event_loop import SimulatedLoop
from tests.simulation.http_client import HttpAnswer, HttpClient, endpoint_of, request
from tests.simulation.network import Network
from tests.simulation.nodes import HTTP_PORT, THRIFT_PORT, WorkerNode
from tests.simulation.questions import Answered, Question, question
from tests.simulation.scheduler import Process, Scheduler
from tests.simulation.thrift_calls import WRITE, call_of, moment_of, result_of, write_arguments
from tests.simulation.thrift_client import ThriftSession, ThriftSessions

_SESSIONS: Final = 3
_POPULAR_SHARE: Final = 0.5
_POPULAR: Final = 3


class _Popular(NamedTuple):
    """What was asked of servers, and may be answered by what is kept of that."""

    name: str
    numbers: tuple[int, ...]
    about: TableName | None


class Clients:
    """A few sessions; each remembers the latest position that it has seen."""

    def __init__(
        self,
        scheduler: Scheduler,
        database: Database,
        network: Network,
        workers: Sequence[WorkerNode],
        check: Callable[[Answered], None],
    ) -> None:
        self._process = Process(scheduler, "clients")
        self._loop = SimulatedLoop(scheduler, self._process, network)
        self._http, self._thrift = HttpClient(), ThriftSessions()
        self._workers = workers
        self._scheduler = scheduler
        self._database = database
        self._check = check
        self._random = scheduler.random("clients")
        self._popular: deque[_Popular] = deque(maxlen=_POPULAR)
        self._reached: dict[int, Position] = {}
        self.asked_count = self.answered = self.cached = 0
        self.unanswered: list[str] = []

    def start(self) -> None:
        self._loop.start(asyncio.Event().wait)

    def end(self) -> None:
        self._process.kill()
        self._loop.close()

    def ask(self, name: str, numbers: tuple[int, ...], about: TableName | None = None) -> None:
        """Asks a worker: mostly the one that has the shard, as if another had forwarded it."""
        session = numbers[-1] % _SESSIONS
        reached = self._reached.get(session, Position(0, 0))
        if self._popular and self._random.random() < _POPULAR_SHARE:
            name, numbers, about = self._random.choice(self._popular)
        posed = question(self._database, name, numbers, reached, about)
        node = self._workers[numbers[0] % len(self._workers)]
        if numbers[-2] % 5:
            node = owner_of(self._workers, posed.read) or node
        began_s = self._scheduler.now
        way = numbers[-2] % 7 if node.thrift is not None else 0
        if way:
            self.asked_count += 1
            self._popular.append(_Popular(name, numbers, posed.read.of_table))
            if way <= 3:
                self._loop.submit(partial(self._ask_by_thrift, node, posed, began_s))
            else:
                self._loop.submit(partial(self._ask_by_http, node, posed, session, began_s))
        elif node.alive and node.backend is not None:
            self.asked_count += 1
            node.submit(partial(self._ask, node, posed, session, began_s))

    def write(self, kind: str, numbers: tuple[int, ...]) -> None:
        """Has a metastore write by way of a worker, and asks what became of it."""
        node = self._workers[numbers[0] % len(self._workers)]
        self._loop.submit(partial(self._write_by_thrift, node, kind, numbers))

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
        if node.process.alive:
            self._take(posed, answer, session, began_s)

    async def _ask_by_http(
        self, node: WorkerNode, posed: Question, session: int, began_s: float
    ) -> None:
        worker = (node.name, HTTP_PORT)
        message = request(worker, posed.read, posed.requirement)
        endpoint = endpoint_of(posed.read)
        read = posed.read.answer
        posed = posed._replace(answer=lambda objects: endpoint.encode(read(objects)))
        try:
            answer = await self._http.ask(worker, message)
        except (OSError, TimeoutError) as error:
            self.unanswered.append(f"{node.name}: {error!r}")
            return
        match answer.status:
            case 200 | 404:
                self._take(posed, _read_answer(answer), session, began_s)
            case 408 | 503:
                # The first where the request itself came too late.
                self.unanswered.append(answer.body.decode())
            case 400:
                self._scheduler.note(f"refused: {answer.body.decode()}")
            case _:
                raise AssertionError(f"{message!r} is answered by {answer}")

    async def _write_by_thrift(self, node: WorkerNode, kind: str, numbers: tuple[int, ...]) -> None:
        worker = (node.name, THRIFT_PORT)
        try:
            session = await self._thrift.borrow(worker)
            reply = await session.call(WRITE, write_arguments(kind, numbers))
        except (OSError, TimeoutError, UpstreamError) as error:
            self._scheduler.note(f"a write by {node.name} may be lost: {error!r}")
            return
        wrote_at = moment_of(reply.body) if reply.kind == MessageType.REPLY else None
        if wrote_at is None:
            self._thrift.give_back(session)
            return
        session.wrote_at = wrote_at
        database, about = self._database, None
        row = database.log.get(database.moments[wrote_at].event)
        if row is not None and row.db_name is not None and row.tbl_name is not None:
            about = TableName(DEFAULT_CATALOG, row.db_name, row.tbl_name)
        posed = question(database, "any", numbers[::-1], Position(0, 0), about)
        self.asked_count += 1
        await self._ask_in(session, node, posed, self._scheduler.now)

    async def _ask_by_thrift(self, node: WorkerNode, posed: Question, began_s: float) -> None:
        try:
            session = await self._thrift.borrow((node.name, THRIFT_PORT))
        except OSError as error:
            self.unanswered.append(f"{node.name}: {error!r}")
            return
        await self._ask_in(session, node, posed, began_s)

    async def _ask_in(
        self, session: ThriftSession, node: WorkerNode, posed: Question, began_s: float
    ) -> None:
        assert node.thrift is not None
        if not isinstance(posed.read, GetTable) or posed.requirement.write_ids is None:
            # Calls without a list say nothing of their consistency.
            latest, max_age_ms = Defaults(node.thrift).bound(node.thrift)
            default = Requirement(node.thrift, latest, max_age_ms=max_age_ms)
            posed = posed._replace(requirement=default)
        call = call_of(posed.read, posed.requirement)
        posed = posed._replace(answer=partial(result_of, call))
        try:
            reply = await session.call(*call)
        except (TimeoutError, UpstreamError) as error:
            self.unanswered.append(f"{node.name}: {error!r}")
            return
        self._thrift.give_back(session)
        if reply.kind != MessageType.REPLY:
            self.unanswered.append(f"{node.name}: {reply.body!r}")
            return
        self.answered += 1
        now_s = self._scheduler.now
        self._check(Answered(posed, reply.body, began_s, now_s, wrote_at=session.wrote_at))

    def _take(self, posed: Question, answer: ReadAnswer[Any], session: int, began_s: float) -> None:
        self.answered += 1
        self.cached += answer.source is Source.CACHE
        self._reached[session] = max(self._reached.get(session, answer.position), answer.position)
        self._check(
            Answered(
                posed,
                answer.value,
                began_s,
                self._scheduler.now,
                answer.source,
                answer.reason,
                answer.position,
                answer.detail,
            )
        )


def _read_answer(answer: HttpAnswer) -> ReadAnswer[Any]:
    """What an answer over HTTP says."""
    headers = answer.headers
    return ReadAnswer(
        answer.body if answer.status == 200 else NoSuchObjectError(answer.body.decode()),
        Source(headers["metatide-source"]),
        Reason(headers["metatide-reason"]),
        parse_position(headers["metatide-position"]),
        headers.get("metatide-detail", ""),
    )


def owner_of(workers: Sequence[WorkerNode], read: Read[Any]) -> WorkerNode | None:
    """The worker that holds the shard of a read."""
    for node in workers:
        if node.backend is None or node.worker is None or node.worker.topic is None:
            continue
        if node.backend.views.shard_of(read.targets[0]) in node.worker.shards:
            return node
    return None
