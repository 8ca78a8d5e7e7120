"""Readers, who check each answer against the history of the database."""

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from random import Random
from typing import Any, Final

from thriftpy2.thrift import TException

from metatide.stack.machine import LOOPBACK
from query_api.positions import Position, parse_position
from tests.support.hive import idl
from tests.support.hive.hms_client import HmsClient, connect
from tests.torture.history import TABLES, Truth
from tests.torture.writing import VERSION

TIMEOUT_S: Final = 15.0
_LATEST_SHARE: Final = 0.6


class Session:
    """A reader at one worker. What it sees under `any` never goes back."""

    def __init__(self, port: int, database: str) -> None:
        self._port, self._database = port, database
        self._connection: http.client.HTTPConnection | None = None
        self.position = Position(0, 0)
        self.evidence = ""
        """The last answer, as it came."""
        self.last_places = dict.fromkeys(TABLES, -1)
        self.restores = 0

    def version(self, name: str, need: str) -> tuple[int, bool] | None:
        """The version, and whether it came from the cache; None if there was no answer."""
        answer = self._get(f"/v1/databases/{self._database}/tables/{name}?{need}")
        if answer is None:
            return None
        headers, body = answer
        parameters = body.get("parameters") or {}
        if (text := headers.get("Metatide-Position")) is not None:
            # Shards are not equally far, so that an answer may be older than the one before.
            self.position = max(self.position, parse_position(text))
        return int(parameters.get(VERSION, -1)), headers.get("Metatide-Source") == "cache"

    def _get(self, path: str) -> tuple[Any, dict[str, Any]] | None:
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection(LOOPBACK, self._port, TIMEOUT_S)
            self._connection.request("GET", path)
            answer = self._connection.getresponse()
            text = answer.read()
            self.evidence = f"{self._port}: {answer.status} {dict(answer.headers)} {text!r}"
        except (OSError, http.client.HTTPException):
            self.close()
            return None
        if answer.status == http.client.NOT_FOUND:
            return answer.headers, {}
        return (answer.headers, json.loads(text)) if answer.status == http.client.OK else None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


class ThriftSession:
    """A reader that calls a worker as it would call a metastore: each of its reads is `latest`."""

    def __init__(self, port: int, database: str) -> None:
        self._address, self._database = f"thrift://{LOOPBACK}:{port}", database
        self._client: HmsClient | None = None
        self._connection = ExitStack()

    def version(self, name: str) -> int | None:
        """The version; None if there was no answer."""
        try:
            if self._client is None:
                connection = connect(self._address, int(TIMEOUT_S * 1000))
                self._client = self._connection.enter_context(connection)
            table = self._client.table(self._database, name)
        except idl.load().NoSuchObjectException:
            return -1
        except (TException, OSError):
            self.close()
            return None
        return int(table.parameters.get(VERSION, -1))

    def close(self) -> None:
        self._connection.close()
        self._client = None


class Readers:
    """Threads that read at a steady rate together, over HTTP and over Thrift."""

    def __init__(
        self,
        ports: list[tuple[int, int]],
        database: str,
        truth: Truth,
        reads_per_s: float,
        count: int = 3,
    ) -> None:
        """`ports` are each worker's for HTTP and for Thrift, and `count` so many readers of a
        worker are there, of whom the last one speaks Thrift.
        """
        self._truth, self._pause_s = truth, count * len(ports) / reads_per_s
        reads = [
            self._over_thrift(ThriftSession(thrift, database))
            if n == count - 1
            else self._over_http(Session(http, database), Random(n))
            for http, thrift in ports
            for n in range(count)
        ]
        self._threads = [threading.Thread(target=self._read, args=[read]) for read in reads]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _read(self, read: AbstractContextManager[Callable[[str], None]]) -> None:
        random, due = Random(threading.current_thread().name), time.monotonic()
        with read as read_table:
            while not self._truth.stop.is_set():
                due = max(due + self._pause_s, time.monotonic() - 0.1)
                time.sleep(max(0.0, due - time.monotonic()))
                read_table(random.choice(TABLES))

    @contextmanager
    def _over_http(self, session: Session, random: Random) -> Iterator[Callable[[str], None]]:
        def read(name: str) -> None:
            if random.random() < _LATEST_SHARE:
                self._latest(session, name)
            else:
                self._any(session, name)

        with closing(session):
            yield read

    @contextmanager
    def _over_thrift(self, session: ThriftSession) -> Iterator[Callable[[str], None]]:
        def read(name: str) -> None:
            least = self._truth.tables[name].certain
            version = session.version(name)
            if version is None:
                self._truth.count("unanswered")
                return
            self._truth.count("reads", "by_thrift")
            self._check_latest(name, version, least, "over Thrift")

        with closing(session):
            yield read

    def _latest(self, session: Session, name: str) -> None:
        least = self._truth.tables[name].certain
        answer = session.version(name, "consistency=latest")
        if self._count(answer) and answer is not None:
            where = f"{session.position}; {session.evidence}"
            self._check_latest(name, answer[0], least, where)

    def _check_latest(self, name: str, version: int, least: int, where: str) -> None:
        history = self._truth.tables[name]
        place = history.place(version)
        if place < least:
            self._blame(f"latest: {name} at {version}, place {place} < {least}", where)
        history.show(place)

    def _any(self, session: Session, name: str) -> None:
        history, restores = self._truth.tables[name], self._truth.restores
        if session.restores != restores:
            session.restores, session.position = restores, Position(0, 0)
            session.last_places = dict.fromkeys(TABLES, -1)
        least = session.last_places[name]
        answer = session.version(name, f"consistency=any&min_position={session.position}")
        if self._count(answer) and answer is not None and self._truth.restores == restores:
            place = history.place(answer[0])
            if place < max(0, least):
                self._blame(
                    f"any: {name} at {answer[0]}, place {place} < {least}",
                    f"{session.position}; {session.evidence}",
                )
            session.last_places[name] = max(least, place)

    def _count(self, answer: tuple[int, bool] | None) -> bool:
        if answer is None:
            self._truth.count("unanswered")
            return False
        self._truth.count("reads", *(["cached"] if answer[1] else []))
        return True

    def _blame(self, what: str, where: str) -> None:
        self._truth.wrong.append(f"{what}; {where}; {time.time():.3f}")
