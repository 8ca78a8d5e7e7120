"""Readers, who check each answer against the history of the database."""

import http.client
import json
import threading
import time
from random import Random
from typing import Any, Final

from metatide.stack.machine import LOOPBACK
from query_api.positions import Position, parse_position
from tests.torture.history import TABLES, Truth
from tests.torture.writing import VERSION

TIMEOUT_S: Final = 15.0


class Session:
    """A reader at one worker. What it sees under `any` never goes back."""

    def __init__(self, port: int, database: str) -> None:
        self._port, self._database = port, database
        self._connection: http.client.HTTPConnection | None = None
        self.position = Position(0, 0)
        self.seen = dict.fromkeys(TABLES, -1)
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


class Readers:
    """Threads that read at a steady rate together."""

    def __init__(
        self, ports: list[int], database: str, truth: Truth, reads_per_s: float, count: int = 6
    ) -> None:
        self._truth, self._pause_s = truth, count / reads_per_s
        self._threads = [
            threading.Thread(
                target=self._read, args=(Session(ports[n % len(ports)], database), Random(n))
            )
            for n in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _read(self, session: Session, random: Random) -> None:
        due = time.monotonic()
        while not self._truth.stop.is_set():
            due = max(due + self._pause_s, time.monotonic() - 0.1)
            time.sleep(max(0.0, due - time.monotonic()))
            name = random.choice(TABLES)
            if random.random() < 0.6:
                self._latest(session, name)
            else:
                self._any(session, name)
        session.close()

    def _latest(self, session: Session, name: str) -> None:
        history = self._truth.tables[name]
        least = history.certain
        answer = session.version(name, "consistency=latest")
        if self._count(answer) and answer is not None:
            place = history.place(answer[0])
            if place < least:
                self._blame(f"latest: {name} at {answer[0]}, place {place} < {least}", session)
            history.show(place)

    def _any(self, session: Session, name: str) -> None:
        history, restores = self._truth.tables[name], self._truth.restores
        if session.restores != restores:
            session.restores, session.position = restores, Position(0, 0)
            session.seen = dict.fromkeys(TABLES, -1)
        least = session.seen[name]
        answer = session.version(name, f"consistency=any&min_position={session.position}")
        if self._count(answer) and answer is not None and self._truth.restores == restores:
            place = history.place(answer[0])
            if place < max(0, least):
                self._blame(f"any: {name} at {answer[0]}, place {place} < {least}", session)
            session.seen[name] = max(least, place)

    def _count(self, answer: tuple[int, bool] | None) -> bool:
        if answer is None:
            self._truth.unanswered += 1
            return False
        self._truth.reads += 1
        self._truth.cached += answer[1]
        return True

    def _blame(self, what: str, session: Session) -> None:
        self._truth.wrong.append(f"{what}; {session.position}; {time.time():.3f}")
