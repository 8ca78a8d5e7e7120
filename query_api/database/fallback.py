"""Reads that the database answers: few at a time, with equal reads shared."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, Final, TypeVar

import structlog
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from hive.errors import InputError, NoSuchObjectError, SourceError, UnansweredError
from hive.reader.driver_errors import driver_reason
from hive.reader.snapshot import DatabaseSnapshot
from hive.write_ids.snapshot import OPEN_TXN_TIMEOUT_MS
from query_api.background_tasks import outcome, take_note
from query_api.database.breaker import Breaker
from query_api.database.metrics import Metrics, Result
from query_api.database.objects import DatabaseObjects
from query_api.database_answer import DatabaseAnswer
from query_api.reads.read import Read

A = TypeVar("A")
WAITING_MAX: Final = 2000
READ_TIMEOUT_S: Final = 30.0
_DOWN: Final = (OperationalError, InterfaceError, PoolTimeoutError)

log = structlog.get_logger(__name__)


class _Unbegun:
    """A read that waits for its turn, and how many wait for it."""

    def __init__(self, task: asyncio.Task[DatabaseAnswer[Any]]) -> None:
        self.task = task
        self.callers = 0


class Fallback:
    """Answers reads from the database.

    1. A read runs in one REPEATABLE READ transaction that also reads the sequence, so its position
       is exact.
    2. A read shares the result of an equal read that hasn't begun yet. It doesn't begin if all who
       wait for it have gone.
    3. At most `connections` reads run at a time; when too many wait, further callers are refused.
    """

    def __init__(
        self,
        open_snapshot: Callable[[], AbstractContextManager[DatabaseSnapshot]],
        connections: int,
    ) -> None:
        self._open = open_snapshot
        self._slots = asyncio.Semaphore(connections)
        self._threads = ThreadPoolExecutor(connections, "database")
        self._unbegun: dict[Read[Any], _Unbegun] = {}
        self._breaker = Breaker()
        self._is_down = False
        self._open_txn_timeout_ms = OPEN_TXN_TIMEOUT_MS
        self._waiting = 0
        self.reads = 0
        self.metrics = Metrics()

    async def answer(self, read: Read[A]) -> DatabaseAnswer[A]:
        """Answers a read. Raises UnansweredError when the database is down or too busy."""
        retry_after_s = self._breaker.retry_after_s()
        if retry_after_s:
            self.metrics.ended(Result.LEFT_ALONE)
            raise UnansweredError("the metastore's database does not answer", retry_after_s)
        if self._waiting >= WAITING_MAX:
            self.metrics.ended(Result.BUSY)
            raise UnansweredError("too many requests wait for the metastore's database", 1.0)
        unbegun = self._unbegun.get(read)
        if unbegun is None:
            unbegun = self._unbegun[read] = _Unbegun(asyncio.create_task(self._run(read)))
            unbegun.task.add_done_callback(take_note)
        self._waiting += 1
        unbegun.callers += 1
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                answer: DatabaseAnswer[A] = await outcome(unbegun.task)
                return answer
        except TimeoutError:
            self.metrics.ended(Result.LATE)
            raise UnansweredError("the metastore's database takes too long", 1.0) from None
        finally:
            self._waiting -= 1
            unbegun.callers -= 1
            if not unbegun.callers and self._unbegun.get(read) is unbegun:
                # Those who come now would wait for reads that nobody waits for.
                del self._unbegun[read]
                unbegun.task.cancel()

    def set_open_txn_timeout(self, timeout_ms: int) -> None:
        """Sets how long a metastore takes an id without a row for an open transaction; the longest
        time counts, of several metastores and Hive's default.
        """
        self._open_txn_timeout_ms = max(timeout_ms, self._open_txn_timeout_ms)

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def _run(self, read: Read[A]) -> DatabaseAnswer[A]:
        try:
            await self._slots.acquire()
            del self._unbegun[read]
            self.reads += 1
            answer = await self._in_a_thread(read)
        except _DOWN as error:
            self._down()
            log.warning("the database can't be read", error=driver_reason(error))
            raise UnansweredError("the metastore's database does not answer", 1.0) from error
        except SourceError as error:
            self._down()
            raise UnansweredError(str(error), 1.0) from error
        except SQLAlchemyError as error:
            self.metrics.ended(Result.REFUSED)
            log.exception("a read of the database failed")
            raise UnansweredError("the metastore's database refused a read", 1.0) from error
        except UnicodeEncodeError as error:
            self._answered()
            raise InputError(
                f"the metastore's database can't hold {error.object!r}: its encoding is "
                f"{error.encoding}"
            ) from error
        except InputError:
            # The database has answered; the question was wrong.
            self._answered()
            raise
        self._answered()
        return answer

    def _answered(self) -> None:
        if self._is_down:
            self._is_down = False
            log.info("the database answers again")
        self._breaker.succeeded()
        self.metrics.ended(Result.ANSWERED)

    def _down(self) -> None:
        self._is_down = True
        self._breaker.failed()
        self.metrics.ended(Result.DOWN)

    async def _in_a_thread(self, read: Read[A]) -> DatabaseAnswer[A]:
        """Runs a read in the slot that was taken for it. Its answer doesn't wait for the end of the
        transaction, which is a round trip.
        """
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[DatabaseAnswer[A]] = loop.create_future()

        def give(answer: DatabaseAnswer[A]) -> None:
            loop.call_soon_threadsafe(answered.set_result, answer)

        ended = loop.run_in_executor(self._threads, self._read, read, give)
        ended.add_done_callback(self._leave_slot)
        await asyncio.wait((answered, ended), return_when=asyncio.FIRST_COMPLETED)
        if not answered.done():
            ended.result()
        return await answered

    def _leave_slot(self, ended: asyncio.Future[None]) -> None:
        take_note(ended)
        self._slots.release()

    def _read(self, read: Read[A], give: Callable[[DatabaseAnswer[A]], None]) -> None:
        with self._open() as snapshot:
            objects = DatabaseObjects(snapshot, self._open_txn_timeout_ms)
            try:
                give(DatabaseAnswer(read.answer(objects), objects.event))
            except NoSuchObjectError as missing:
                give(DatabaseAnswer(missing, objects.event))
