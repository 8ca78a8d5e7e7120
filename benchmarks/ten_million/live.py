"""500 events a second beside a large catalog: how late the cache is, while a worker is killed and
images are made.
"""

import signal
import threading
import time
from contextlib import ExitStack
from typing import Any, Final

import psycopg
import sqlalchemy as sa

from benchmarks.restart import started
from benchmarks.ten_million.reads import asking
from benchmarks.ten_million.stand import Stand
from tests.support.workers import WorkerProcess, workers

MAIN: Final = "main"
EVENTS_PER_S: Final = 500
SECONDS: Final = 60
KILL_AFTER_S: Final = 20.0
IMAGES_AFTER_S: Final = 35.0
LOOK_S: Final = 0.1
CAUGHT_UP_S: Final = 120.0


class Lateness:
    """Compares the last event of the database with what the worker has applied."""

    def __init__(self, stand: Stand, worker: WorkerProcess) -> None:
        url = sa.make_url(stand.url).set(drivername="postgresql")
        self._connection = psycopg.connect(
            url.render_as_string(hide_password=False), autocommit=True
        )
        self._worker = worker
        self.events_late: list[int] = []

    def last_event(self) -> int:
        row = self._connection.execute(
            'SELECT "NEXT_EVENT_ID" - 1 FROM "NOTIFICATION_SEQUENCE"'
        ).fetchone()
        assert row is not None
        return int(row[0])

    def look(self) -> int | None:
        """How many events the slowest shard lacks; None while the worker doesn't answer."""
        last, status = self.last_event(), self._worker.status()
        if status is None or not status["ready"]:
            return None
        late: int = last - min(shard["event_id"] for shard in status["shards"])
        self.events_late.append(max(0, late))
        return late


def live(stand: Stand) -> dict[str, Any]:
    """A worker and a connector of the main topic beside writers; the worker is killed after 20 s,
    and makes images after 35 s.
    """
    topic, url = stand.topic(MAIN), stand.images_url("live")
    worker = stand.worker(topic, MAIN, METATIDE_IMAGES_URL=url)
    figures: dict[str, Any] = {}
    with ExitStack() as stack:
        stack.enter_context(stand.beside(topic, MAIN, "connect"))
        stack.enter_context(workers(worker))
        worker.until_ready()
        late = Lateness(stand, worker)
        rate, seconds = ("--events-per-s", str(EVENTS_PER_S)), ("--seconds", str(SECONDS))
        arguments = ("demo", "run", "--tables", "100", "--partitions", "2000", *rate, *seconds)
        done: list[Any] = []
        writing = threading.Thread(
            target=lambda: done.append(stand.command(topic, "writers", *arguments))
        )
        with asking(worker, stand.catalog, "latest") as asks:
            writing.start()
            began = time.monotonic()
            while writing.is_alive():
                since = time.monotonic() - began
                if since > KILL_AFTER_S and "restarted_s" not in figures:
                    worker.end(signal.SIGKILL)
                    figures["restarted_s"] = round(started(worker).seconds, 2)
                if since > IMAGES_AFTER_S and "images_s" not in figures:
                    images = stand.command(topic, MAIN, "image", "create", METATIDE_IMAGES_URL=url)
                    figures["images_s"] = round(images.seconds, 2)
                late.look()
                time.sleep(LOOK_S)
            ended = time.monotonic()
            while late.look() != 0:
                assert time.monotonic() - ended < CAUGHT_UP_S, "the worker doesn't catch up"
                time.sleep(LOOK_S)
            figures["caught_up_s"] = round(time.monotonic() - ended, 2)
        worker.end()
    ordered = sorted(late.events_late)
    return figures | {
        "events": late.last_event(),
        "events_per_s": done[0].last["events_per_s_mean"],
        "events_late_p50": ordered[len(ordered) // 2],
        "events_late_max": ordered[-1],
        "reads_unanswered": asks.unanswered,
        "reads": asks.figures(),
    }
