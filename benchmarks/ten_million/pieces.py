"""The pieces, in the order in which they depend on each other."""

import shutil
import signal
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any, Final

import psycopg
import sqlalchemy as sa

from benchmarks.prewarm import READ
from benchmarks.restart import started
from benchmarks.ten_million import growth
from benchmarks.ten_million.catalog import fill
from benchmarks.ten_million.live import live
from benchmarks.ten_million.reads import Asking, asking, large_lists
from benchmarks.ten_million.stand import Stand
from benchmarks.ten_million.watch import bytes_of
from state.topic import Topic, TopicReader
from tests.support.kafka.topics import delete_topic
from tests.support.workers import WorkerProcess, workers

FILLING_S: Final = 480.0
LOADING_S: Final = 540.0
RESTARTS: Final = 3
ASKS: Final = 500
MAIN: Final = "main"
"""The topic that Spark fills and the worker that follows it, which most pieces use."""
LOCAL: Final = "local"


def database(stand: Stand) -> dict[str, Any]:
    """The catalog's rows, written by the database itself; the baseline copies them out again."""
    began = time.monotonic()
    complete = fill(stand.url, stand.catalog, began + FILLING_S)
    seconds = time.monotonic() - began
    if complete < stand.catalog.partitions:
        return {"finished": False, "complete": complete, "seconds": round(seconds, 1)}
    seconds += sum(line["seconds"] for line in growth.unfinished(stand.folder, "database"))
    return {
        "seconds": round(seconds, 1),
        "tables": stand.catalog.tables,
        "large_table": stand.catalog.large,
        "disk_mib": bytes_of(stand.folder / "postgres") >> 20,
    }


def spark(stand: Stand) -> dict[str, Any]:
    """Prewarm by Spark into the main topic, without anybody who follows."""
    figures = _prewarm(stand, "spark", MAIN, "spark")
    return figures if "run" in figures else figures | {"copy_same_rows_s": _copied_s(stand)}


def _prewarm(stand: Stand, piece: str, name: str, engine: str) -> dict[str, Any]:
    """Continues where an earlier run was interrupted; its figures count, too."""
    topic = stand.topic(name)
    done = stand.command_within(LOADING_S, topic, name, "prewarm", "--engine", engine)
    runs = [line["run"] for line in growth.unfinished(stand.folder, piece)]
    run = {"command_s": round(done.seconds, 2), **done.last}
    if not done.ended:
        return {"finished": False, "run": run}
    sums = {key: sum(each[key] for each in (*runs, run)) for key in run}
    records = sum(bytes_of(path) for path in stand.disk("").glob(f"{name}-*"))
    return {
        "runs": len(runs) + 1,
        "command_s": sums["command_s"],
        "load_s": sums["seconds"],
        "loaded": sums["partitions"],
        "partitions_per_s": round(sums["partitions"] / sums["seconds"]),
        "record_bytes_a_partition": round(sums["bytes"] / max(1, sums["partitions"])),
        "topic_bytes_a_partition": round(records / stand.catalog.partitions, 1),
    }


def _copied_s(stand: Stand) -> float:
    """The time in which one connection copies the rows that a load reads."""
    url = sa.make_url(stand.url).set(drivername="postgresql")
    began = time.perf_counter()
    with psycopg.connect(url.render_as_string(hide_password=False)) as connection:
        for table in READ:
            with connection.cursor().copy(f'COPY "{table}" TO STDOUT (FORMAT binary)') as copy:
                for _ in copy:
                    pass
    return round(time.perf_counter() - began, 2)


def follow(stand: Stand) -> dict[str, Any]:
    """A worker without a store, until it serves the whole topic; the baseline consumes it."""
    topic = stand.topic(MAIN)
    shutil.rmtree(stand.stores(MAIN), ignore_errors=True)
    worker, ends = stand.worker(topic, MAIN), stand.ends(topic)
    with workers(worker):
        began = time.perf_counter()
        _until_at(worker, ends)
        seconds = time.perf_counter() - began
        worker.end()
    return {
        "served_after_s": round(seconds, 2),
        "partitions_per_s": round(stand.catalog.partitions / seconds),
        "records": sum(ends.values()),
        "store_bytes_a_partition": round(
            bytes_of(stand.stores(MAIN)) / stand.catalog.partitions, 1
        ),
        "consume_only_s": _consumed_s(topic, ends),
    }


def _until_at(worker: WorkerProcess, ends: Mapping[int, int]) -> None:
    worker.until(
        lambda status: (
            status["ready"]
            and len(status["shards"]) == len(ends)
            and all(shard["offset"] >= ends[shard["shard"]] for shard in status["shards"])
        ),
        590,
    )


def _consumed_s(topic: Topic, ends: Mapping[int, int]) -> float:
    began = time.perf_counter()
    with TopicReader(topic) as reader:
        for shard, end in ends.items():
            assert sum(map(len, reader.read(shard, 0, end))) == end
    return round(time.perf_counter() - began, 2)


def reads(stand: Stand) -> dict[str, Any]:
    """Random reads, one at a time, and the names and partitions of the largest table."""
    worker = stand.worker(stand.topic(MAIN), MAIN)
    figures: dict[str, Any] = {}
    with workers(worker):
        worker.until_ready()
        for consistency in ("any", "latest"):
            asks = Asking(worker, stand.catalog, consistency)
            for _ in range(ASKS):
                asks.ask()
            figures[consistency] = asks.figures()
        figures["rss_mib_after_reads"] = _rss_mib(worker)
        figures["large"] = large_lists(worker, stand, "latest")
        figures["rss_mib_after_lists"] = _rss_mib(worker)
        worker.end()
    return figures


def _rss_mib(worker: WorkerProcess) -> int:
    status = worker.status()
    assert status is not None
    return int(status["memory_bytes"]) >> 20


def restart(stand: Stand) -> dict[str, Any]:
    """Starts of a worker with its stores, after it was ended and after it was killed."""
    worker = stand.worker(stand.topic(MAIN), MAIN)
    figures: dict[str, Any] = {}
    with workers(worker):
        worker.until_ready()
        for how in (signal.SIGTERM, signal.SIGKILL):
            starts = []
            for _ in range(RESTARTS):
                worker.end(how)
                starts.append(started(worker).seconds)
            figures[f"ready_after_{how.name}_s"] = round(median(starts), 2)
            figures[f"ready_after_{how.name}_s_max"] = round(max(starts), 2)
        worker.end()
    return figures


def replay(stand: Stand) -> dict[str, Any]:
    """The stores of a stopped worker anew from the topic, one process for each core."""
    topic = stand.topic(MAIN)
    stand.empty_data_dir("replayed")
    done = stand.command(topic, "replayed", "rebuild", "--engine", "replay")
    size = bytes_of(stand.stores("replayed"))
    stand.empty_data_dir("replayed")
    return {
        "command_s": round(done.seconds, 2),
        "partitions_per_s": round(stand.catalog.partitions / done.seconds),
        "store_bytes_a_partition": round(size / stand.catalog.partitions, 1),
        "consume_only_s": _consumed_s(topic, stand.ends(topic)),
    }


def spark_rebuild(stand: Stand) -> dict[str, Any]:
    """Images of all shards from the topic, by Spark, and a worker that begins with them."""
    topic, url = stand.topic(MAIN), stand.images_url("spark")
    shutil.rmtree(stand.folder / "images" / "spark", ignore_errors=True)
    done = stand.command(topic, "spark", "rebuild", "--engine", "spark", METATIDE_IMAGES_URL=url)
    figures = {
        "command_s": round(done.seconds, 2),
        "partitions_per_s": round(stand.catalog.partitions / done.seconds),
        "image_bytes_a_partition": _image_bytes(stand, "spark"),
    }
    figures |= _restored(stand, topic, "spark")
    shutil.rmtree(stand.folder / "images" / "spark")
    return figures


def images(stand: Stand) -> dict[str, Any]:
    """Images made by the running worker, and a worker that begins with them; the baseline copies
    the stores.
    """
    topic, url = stand.topic(MAIN), stand.images_url("worker")
    shutil.rmtree(stand.folder / "images" / "worker", ignore_errors=True)
    worker = stand.worker(topic, MAIN, METATIDE_IMAGES_URL=url)
    with workers(worker):
        worker.until_ready()
        with asking(worker, stand.catalog, "latest") as asks:
            done = stand.command(topic, MAIN, "image", "create", METATIDE_IMAGES_URL=url)
        worker.end()
    began, copy = time.perf_counter(), stand.folder / "copy"
    shutil.copytree(stand.stores(MAIN), copy)
    copied_s = time.perf_counter() - began
    shutil.rmtree(copy)
    figures = {
        "create_s": round(done.seconds, 2),
        "image_bytes_a_partition": _image_bytes(stand, "worker"),
        "copy_stores_s": round(copied_s, 2),
        "reads": asks.figures(),
    }
    figures |= _restored(stand, topic, "worker")
    shutil.rmtree(stand.folder / "images" / "worker")
    return figures


def _image_bytes(stand: Stand, name: str) -> float:
    return round(bytes_of(stand.folder / "images" / name) / stand.catalog.partitions, 1)


def _restored(stand: Stand, topic: Topic, name: str) -> dict[str, float]:
    """The time in which a worker without stores begins with these images and serves all."""
    stand.empty_data_dir("restored")
    worker = stand.worker(topic, "restored", METATIDE_IMAGES_URL=stand.images_url(name))
    with workers(worker):
        began = time.perf_counter()
        _until_at(worker, stand.ends(topic))
        seconds = time.perf_counter() - began
        worker.end()
    stand.empty_data_dir("restored")
    return {"served_from_images_s": round(seconds, 2)}


def connectors(stand: Stand) -> dict[str, Any]:
    """Prewarm by the engine of connectors into a topic of its own, with a worker that follows and
    answers, and a connector that loads what its readers miss.
    """
    topic = stand.topic(LOCAL)
    worker = stand.worker(topic, LOCAL)
    with stand.beside(topic, LOCAL, "connect"), workers(worker):
        worker.until_ready()
        with asking(worker, stand.catalog, "latest") as asks:
            began = time.perf_counter()
            figures = _prewarm(stand, "connectors", LOCAL, "local")
            if "run" in figures:
                return figures
            _until_at(worker, stand.ends(topic))
            seconds = time.perf_counter() - began
        figures["served_after_s"] = round(seconds, 2)
        figures["reads"] = asks.figures()
        worker.end()
    shutil.rmtree(stand.stores(LOCAL))
    delete_topic(topic.servers, topic.name)
    return figures


PIECES: Final[dict[str, Callable[[Stand], dict[str, Any]]]] = {
    "database": database,
    "spark": spark,
    "follow": follow,
    "reads": reads,
    "restart": restart,
    "replay": replay,
    "spark_rebuild": spark_rebuild,
    "images": images,
    "connectors": connectors,
    "live": live,
}
