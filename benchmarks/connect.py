"""The connector: events per second from a filled log to the topic, and the delay of a commit.

It runs as a process of its own with one core to itself; database, broker and this program share the
other cores. The baselines only read the same rows by the driver, only produce such records, and
measure how long an empty record takes from the producer to a waiting consumer.
"""

import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import psutil
import psycopg
from confluent_kafka import TopicPartition
from sqlalchemy import URL

from benchmarks.report import cpu_s, print_line
from connectors import topic_admin as events
from connectors.publish import headers, tails
from connectors.publish.producer import make_producer
from metatide.demo.options import Limits, Size
from metatide.demo.pace import Pace
from metatide.demo.store import Store
from metatide.demo.workload import Style, Workload
from metatide.stack.kafka import Kafka
from metatide.stack.ports import Ports
from metatide.stack.postgres import Postgres, connect
from state.topic import Topic
from state.topic.client import topic_bounds
from state.topic.partitions import assigned_consumer
from tests.support.processes import open_folder, running

EVENTS: Final = 10_000
TIMES: Final = 3
"""The mix is copied to be this many times as long, because the workload writes more slowly than the
connector reads."""
TRANSACTION_EVENTS: Final = 90_000
RECORDS: Final = 100_000
SHARDS: Final = 16
REPEATS: Final = 3
PACED_EVENTS: Final = 2_000
PACED_PER_S: Final = 200
SETTLED_S: Final = 3.0
"""The time in which a new broker creates the topics for consumer groups, and answers nobody."""
CORE: Final = 0


def main() -> None:
    os.sched_setaffinity(0, os.sched_getaffinity(0) - {CORE})
    with open_folder() as folder:
        ports = Ports(folder / "ports.json")
        postgres, kafka = Postgres(folder / "postgres", ports), Kafka(folder / "kafka", ports)
        with running(postgres, folder / "log"), running(kafka, folder / "log"):
            mix = database(postgres, "mix")
            fill_mix(mix)
            show_throughput("mix", mix, kafka, folder)
            transactions = database(postgres, "transactions")
            fill_transactions(transactions)
            show_throughput("transactions", transactions, kafka, folder)
            latency(database(postgres, "latency"), kafka, folder)


def show_throughput(name: str, url: URL, kafka: Kafka, folder: Path) -> None:
    """Prints the throughput over a filled log: the median of several runs."""
    rates, core_rates = [], []
    for number in range(REPEATS):
        rate, core_rate = throughput(url, Topic(kafka.address, f"{name}_{number}", SHARDS), folder)
        rates.append(rate)
        core_rates.append(core_rate)
    show(
        f"connect/{name}",
        events_per_s=round(median(rates)),
        events_per_core_s=round(median(core_rates)),
        raw_rows_read_per_s=round(read_rows(url)),
        raw_records_produced_per_s=round(produce_records(kafka)),
        repeats=REPEATS,
    )


def throughput(url: URL, topic: Topic, folder: Path) -> tuple[float, float]:
    """Events per second from the first record to the last, and per second of processor time."""
    events.create(topic)
    last = last_event(url)
    with connector(url, topic, folder) as process:
        until(lambda: lowest(topic) > 0)
        begin, used_before_s = time.monotonic(), cpu_s(psutil.Process(process.pid))
        first = lowest(topic)
        until(lambda: lowest(topic) >= last)
        elapsed_s = time.monotonic() - begin
        used_s = cpu_s(psutil.Process(process.pid)) - used_before_s
    return (last - first) / elapsed_s, (last - first) / used_s


def lowest(topic: Topic) -> int:
    return tails.find(topic).lowest


def latency(url: URL, kafka: Kafka, folder: Path) -> None:
    """Prints the time from the return of a commit until a waiting consumer has the record."""
    store = Store(url.render_as_string(hide_password=False))
    del store
    topic = Topic(kafka.address, "latency", SHARDS)
    events.create(topic)
    with connector(url, topic, folder):
        until(lambda: any(bounds.end for bounds in topic_bounds(topic).values()))
        committed, consumed = paced(url, topic)
    waited_ms = [(consumed[event] - at) * 1000 for event, at in committed.items()]
    raw = raw_latency_ms(kafka)
    figures = {"commit_to_consumed_ms": waited_ms, "raw_produced_to_consumed_ms": raw}
    for figure, values in figures.items():
        cuts = quantiles(values, n=100)
        show(f"connect/{figure}", p50=round(cuts[49], 1), p99=round(cuts[98], 1), n=len(values))


def paced(url: URL, topic: Topic) -> tuple[dict[int, float], dict[int, float]]:
    """Commits at an even pace; returns when each commit returned, and when its event was seen."""
    committed: dict[int, float] = {}
    consumed: dict[int, float] = {}
    ended = threading.Event()
    reader = threading.Thread(target=watch, args=(topic, consumed, ended))
    reader.start()
    with connect(url) as connection:
        connection.autocommit = False
        cursor = connection.cursor()
        begin = time.monotonic() + SETTLED_S
        for number in range(1, PACED_EVENTS + 1):
            time.sleep(max(0.0, begin + number / PACED_PER_S - time.monotonic()))
            insert(cursor, number)
            connection.commit()
            committed[number] = time.monotonic()
    until(lambda: len(consumed) == PACED_EVENTS)
    ended.set()
    reader.join()
    return committed, consumed


def watch(topic: Topic, consumed: dict[int, float], ended: threading.Event) -> None:
    consumer = assigned_consumer(topic)
    places = topic_bounds(topic).items()
    consumer.assign([TopicPartition(topic.name, shard, bounds.end) for shard, bounds in places])
    while not ended.is_set():
        message = consumer.poll(0.1)
        if message is None or message.error() is not None:
            continue
        head = headers.read(message.headers())
        if head is not None and head.kind is headers.RecordKind.CHANGE:
            consumed.setdefault(head.upto, time.monotonic())
    consumer.close()


def insert(cursor: psycopg.Cursor[Any], number: int) -> None:
    cursor.execute('SELECT "NEXT_EVENT_ID" FROM "NOTIFICATION_SEQUENCE" FOR UPDATE')
    cursor.execute(
        'INSERT INTO "NOTIFICATION_LOG" ("NL_ID", "EVENT_ID", "EVENT_TIME", "EVENT_TYPE",'
        ' "MESSAGE", "MESSAGE_FORMAT") VALUES (%s, %s, 0, %s, %s, %s)',
        (number, number, "COMMIT_TXN", json.dumps({"txnid": number}), "json-0.2"),
    )
    cursor.execute('UPDATE "NOTIFICATION_SEQUENCE" SET "NEXT_EVENT_ID" = %s', (number + 1,))


def raw_latency_ms(kafka: Kafka) -> list[float]:
    topic = Topic(kafka.address, "raw_latency", 1)
    events.create(topic)
    producer, consumer = make_producer(topic), assigned_consumer(topic)
    consumer.assign([TopicPartition(topic.name, 0, 0)])
    waited: list[float] = []
    for _ in range(PACED_EVENTS // 8):
        begin = time.monotonic()
        producer.produce(topic.name, b"x", partition=0)
        producer.flush()
        while (message := consumer.poll(1.0)) is None or message.error() is not None:
            pass
        waited.append((time.monotonic() - begin) * 1000)
        time.sleep(1 / PACED_PER_S)
    consumer.close()
    return waited


def read_rows(url: URL) -> float:
    """Rows per second that the driver alone reads, with messages, in the connector's batches."""
    last, at = last_event(url), 0
    with connect(url) as connection:
        cursor = connection.cursor()
        begin = time.monotonic()
        while at < last:
            cursor.execute(
                'SELECT * FROM "NOTIFICATION_LOG" WHERE "EVENT_ID" > %s AND "EVENT_ID" <= %s',
                (at, at + 2_000),
            )
            cursor.fetchall()
            at += 2_000
        return last / (time.monotonic() - begin)


def produce_records(kafka: Kafka) -> float:
    """Records per second that a producer alone writes to all shards in turn: 100 bytes, with
    headers.
    """
    topic = Topic(kafka.address, "raw_produce", SHARDS)
    events.create(topic)
    producer = make_producer(topic)
    written = headers.write(
        headers.RecordHeaders(headers.RecordKind.CHANGE, 0, 1, "COMMIT_TXN", b"12345678")
    )
    value = b"x" * 100
    begin = time.monotonic()
    for number in range(RECORDS):
        producer.produce(topic.name, value, partition=number % SHARDS, headers=written)
    producer.flush()
    return RECORDS / (time.monotonic() - begin)


@contextmanager
def connector(url: URL, topic: Topic, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    environment = {
        **os.environ,
        "METATIDE_DATABASE_URL": url.render_as_string(hide_password=False),
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": topic.servers,
        "METATIDE_KAFKA_TOPIC": topic.name,
        "METATIDE_KAFKA_PARTITIONS": str(topic.shards),
        "METATIDE_DATA_DIR": str(folder),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "metatide", "connect"],
        env=environment,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, {CORE}),
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def database(postgres: Postgres, name: str) -> URL:
    with connect(postgres.url("postgres")) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
    return postgres.url(name)


def fill_mix(url: URL) -> None:
    """Writes a log of the demo's mix, without the rows that the events describe."""
    store = Store(url.render_as_string(hide_password=False))
    size = Size(tables=200, partitions=4_000)
    workload = Workload(store.ids, store.log_only, store.schema, size, Style())
    pace = Pace(Limits(events=EVENTS))
    pace.begin(0)
    workload.prepare(pace)
    prepared = last_event(url)
    workload.run(1, pace)
    repeat(url, prepared)


def repeat(url: URL, after: int) -> None:
    """Appends copies of all events after this one. For a connector they are as much work as new
    ones, because it keeps no state.
    """
    columns = ("EVENT_TIME", "EVENT_TYPE", "CAT_NAME", "DB_NAME", "TBL_NAME", "MESSAGE")
    names = ", ".join(f'"{name}"' for name in (*columns, "MESSAGE_FORMAT"))
    last = last_event(url)
    with connect(url) as connection:
        connection.execute(
            f'INSERT INTO "NOTIFICATION_LOG" ("NL_ID", "EVENT_ID", {names}) '
            f'SELECT "NL_ID" + 1000000 * k, "EVENT_ID" + %(n)s * k, {names} '
            'FROM "NOTIFICATION_LOG", generate_series(1, %(times)s) AS k '
            'WHERE "EVENT_ID" > %(after)s',
            {"n": last - after, "times": TIMES - 1, "after": after},
        )
        connection.execute(
            'UPDATE "NOTIFICATION_SEQUENCE" SET "NEXT_EVENT_ID" = %s',
            (last + (last - after) * (TIMES - 1) + 1,),
        )


def fill_transactions(url: URL) -> None:
    """Writes a log of OPEN_TXN, ALLOC_WRITE_ID_EVENT and COMMIT_TXN, again and again."""
    Store(url.render_as_string(hide_password=False))
    columns = '"NL_ID", "EVENT_ID", "EVENT_TIME", "EVENT_TYPE", "DB_NAME", "TBL_NAME", "MESSAGE"'
    with connect(url) as connection:
        connection.execute(
            f'INSERT INTO "NOTIFICATION_LOG" ({columns}, "MESSAGE_FORMAT") '
            "SELECT n, n, 0, "
            "(ARRAY['OPEN_TXN', 'ALLOC_WRITE_ID_EVENT', 'COMMIT_TXN'])[(n - 1) %% 3 + 1], "
            "CASE (n - 1) %% 3 WHEN 1 THEN 'db' END, "
            "CASE (n - 1) %% 3 WHEN 1 THEN 't' || t %% 500 END, "
            "CASE (n - 1) %% 3 "
            'WHEN 0 THEN format(\'{"fromTxnId":%%s,"toTxnId":%%s,"timestamp":0}\', t, t) '
            'WHEN 1 THEN format(\'{"dbName":"db","tableName":"t%%s","txnIdList":[%%s],'
            '"writeIdList":[%%s]}\', t %% 500, t, t / 500 + 1) '
            'ELSE format(\'{"txnid":%%s,"writeIds":[%%s],"databases":["db"]}\', t, '
            "t / 500 + 1) END, 'json-0.2' "
            "FROM (SELECT n, (n - 1) / 3 AS t FROM generate_series(1, %s) AS n) AS numbered",
            (TRANSACTION_EVENTS,),
        )
        connection.execute(
            'UPDATE "NOTIFICATION_SEQUENCE" SET "NEXT_EVENT_ID" = %s', (TRANSACTION_EVENTS + 1,)
        )


def last_event(url: URL) -> int:
    statement = 'SELECT "NEXT_EVENT_ID" FROM "NOTIFICATION_SEQUENCE"'
    with connect(url) as connection:
        [(next_id,)] = connection.execute(statement).fetchall()
    assert isinstance(next_id, int)
    return next_id - 1


def until(what: Callable[[], bool]) -> None:
    while not what():
        time.sleep(0.05)


def show(name: str, **figures: float) -> None:
    memory_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print_line(name=name, **figures, connector_mib_max=memory_mib, load=os.getloadavg()[0])


if __name__ == "__main__":
    main()
