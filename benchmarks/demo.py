"""The demo: events per second that four writers bring into a durable PostgreSQL, with their rows.

The baseline is the least that a metastore could do: as many writers, whose transactions lock the
sequence, insert one row of the log with a message of the same length, advance the sequence, and
commit.
"""

import threading
import time
from statistics import median
from typing import Any, Final

import psycopg
from sqlalchemy import URL, func, select

from benchmarks.report import print_line
from metatide.demo.options import Limits, Size
from metatide.demo.pace import Pace
from metatide.demo.store import Store
from metatide.demo.workload import Style, Workload
from metatide.stack.ports import Ports
from metatide.stack.postgres import Postgres, connect
from tests.support.processes import open_folder, running

WRITERS: Final = 4
SECONDS: Final = 5.0
REPEATS: Final = 3
SIZE: Final = Size(tables=200, partitions=4_000)


def main() -> None:
    with open_folder() as folder:
        postgres = Postgres(folder / "postgres", Ports(folder / "ports.json"))
        with running(postgres, folder / "log"):
            measured = [measure(postgres, number) for number in range(REPEATS)]
    for figure in measured[0]:
        middle = median(each[figure] for each in measured)
        print_line(name=figure, value=round(middle, 1), repeats=REPEATS)


def measure(postgres: Postgres, number: int) -> dict[str, float]:
    database = f"demo_{number}"
    with connect(postgres.url("postgres")) as connection:
        connection.execute(f'CREATE DATABASE "{database}" TEMPLATE template0')
    url = postgres.url(database)
    store = Store(url.render_as_string(hide_password=False))
    workload = Workload(store.ids, store.session, store.schema, SIZE, Style(seed=number))
    pace = Pace(Limits(seconds=SECONDS))
    workload.prepare(pace)
    pace.begin(workload.events)
    before, begin, processor = workload.events, time.monotonic(), time.process_time()
    workload.run(WRITERS, pace)
    events = workload.events - before
    elapsed_s = time.monotonic() - begin
    processor_s = time.process_time() - processor
    return {
        "demo_events_per_s": events / elapsed_s,
        "raw_locked_inserts_per_s": raw(url, message_bytes(store)),
        "demo_processor_us_per_event": processor_s / events * 1e6,
        "message_bytes_mean": message_bytes(store),
    }


def message_bytes(store: Store) -> int:
    log = store.metadata.tables["NOTIFICATION_LOG"]
    with store.engine.connect() as connection:
        return int(connection.scalar(select(func.avg(func.length(log.c.MESSAGE)))) or 0)


def raw(url: URL, message_bytes: int) -> float:
    ended = time.monotonic() + SECONDS
    done = [0] * WRITERS

    def write(writer: int) -> None:
        with connect(url) as connection:
            connection.autocommit = False
            cursor = connection.cursor()
            while time.monotonic() < ended:
                insert(cursor, -1 - done[writer] * WRITERS - writer, "x" * message_bytes)
                connection.commit()
                done[writer] += 1

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / SECONDS


def insert(cursor: psycopg.Cursor[Any], id_: int, message: str) -> None:
    cursor.execute('SELECT "NEXT_EVENT_ID" FROM "NOTIFICATION_SEQUENCE" FOR UPDATE')
    first_row = cursor.fetchone()
    assert first_row
    cursor.execute(
        'INSERT INTO "NOTIFICATION_LOG" ("NL_ID", "EVENT_ID", "EVENT_TIME", "EVENT_TYPE",'
        ' "MESSAGE", "MESSAGE_FORMAT") VALUES (%s, %s, 0, %s, %s, %s)',
        (id_, first_row[0], "RAW", message, "json-0.2"),
    )
    cursor.execute('UPDATE "NOTIFICATION_SEQUENCE" SET "NEXT_EVENT_ID" = %s', (first_row[0] + 1,))


if __name__ == "__main__":
    main()
