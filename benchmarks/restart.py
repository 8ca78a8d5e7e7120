"""How soon a worker follows the topic again, with the stores that it kept and without any.

All times are from the start of its process; it has a database to read from, too. The baselines are
a process that imports Faust, and one whose Faust app gets the same partitions but folds nothing.
Bytecode is kept, as in an installed Metatide: the first start, which isn't measured, writes it.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import httpx
import psutil

from benchmarks.replay import partitions
from benchmarks.report import cpu_s, report
from metatide.demo.store import Store
from metatide.stack.machine import LOOPBACK
from state.topic import Topic
from tests.support.databases import postgres
from tests.support.kafka.broker import broker
from tests.support.kafka.topics import TopicWriter, new_topic
from tests.support.processes import open_folder
from tests.support.workers import WorkerProcess, workers

PARTITIONS: Final = 100_000
SHARDS: Final = 12
REPEATS: Final = 5
POLL_S: Final = 0.01
_BARE = """
import asyncio, sys, faust
from faust import App

async def main():
    app = App(sys.argv[3], broker="aiokafka://" + sys.argv[1], datadir=sys.argv[4],
              store="memory://", web_enabled=False, topic_allow_declare=False,
              topic_disable_leader=True)

    async def count(stream):
        async for _ in stream.events():
            pass

    async def given(sender, assigned, **_):
        if assigned:
            print("given", flush=True)

    app.agent(app.topic(sys.argv[2]))(count)
    app.on_partitions_assigned.connect(given, weak=False)
    await app.start()
    await app.wait_until_stopped()

asyncio.run(main())
"""


class Start(NamedTuple):
    """How long a start took."""

    seconds: float
    cpu_s: float
    """The processor time of the started process alone."""


def show_starts(name: str, starts: Sequence[Start], **beside: object) -> None:
    report(
        name,
        round(median(one.seconds for one in starts), 2),
        "s",
        max=round(max(one.seconds for one in starts), 2),
        cpu_s=round(median(one.cpu_s for one in starts), 2),
        **beside,
        load=os.getloadavg()[0],
    )


def fill(servers: str, shards: int) -> Topic:
    """Makes a topic with the partitions of a table, all in the first shard, whatever the table's
    name.
    """
    topic = new_topic(servers, shards)
    writer = TopicWriter(topic)
    writer.write(0, partitions(PARTITIONS))
    writer.flush()
    return topic


def started(worker: WorkerProcess) -> Start:
    began = time.perf_counter()
    worker.start()
    with httpx.Client(base_url=f"http://{LOOPBACK}:{worker.port}", trust_env=False) as client:
        while not is_ready(client):
            assert worker.running, worker.log.read_text()
            time.sleep(POLL_S)
    seconds = time.perf_counter() - began
    assert worker.process is not None
    return Start(seconds, cpu_s(psutil.Process(worker.process.pid)))


def is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").is_success
    except httpx.TransportError:
        return False


def restarted(worker: WorkerProcess, how: signal.Signals) -> list[Start]:
    found = []
    for _ in range(REPEATS):
        worker.end(how)
        found.append(started(worker))
    return found


def rebuilt(worker: WorkerProcess) -> list[Start]:
    worker.end()
    shutil.rmtree(worker.directory.path)
    return [started(worker)]


def bare(command: Sequence[str]) -> Start:
    """Starts a process, and waits until it prints something or ends."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    start = Start(time.perf_counter() - began, cpu_s(psutil.Process(process.pid)))
    process.terminate()
    process.communicate()
    return start


def main() -> None:
    with ExitStack() as stack:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = stack.enter_context(tempfile.TemporaryDirectory())
        servers = stack.enter_context(broker())
        server = stack.enter_context(postgres.server())
        folder: Path = stack.enter_context(open_folder())
        url = server.new_database()
        Store(url).engine.dispose()
        topic = fill(servers, SHARDS)
        worker = WorkerProcess(topic, folder, "one", METATIDE_DATABASE_URL=url)
        stack.enter_context(workers(worker))
        worker.until_ready(SHARDS)
        imports = bare(["-c", "from faust import App; print(flush=True)"])
        # Each app has a consumer group of its own, so that it needn't wait for the previous one's
        # end.
        script = ["-c", _BARE, servers, topic.name]
        faust = [bare([*script, uuid.uuid4().hex, str(folder)]) for _ in range(3)]
        baseline: dict[str, object] = {
            "faust_imported_s": round(imports.seconds, 2),
            "faust_given_s": round(median(one.seconds for one in faust), 2),
        }
        tasks: list[tuple[str, Callable[[], list[Start]]]] = [
            ("restart_kept", lambda: restarted(worker, signal.SIGTERM)),
            ("restart_killed", lambda: restarted(worker, signal.SIGKILL)),
            ("rebuild_100000_partitions", lambda: rebuilt(worker)),
        ]
        for name, task in tasks:
            show_starts(name, task(), **baseline)


if __name__ == "__main__":
    main()
