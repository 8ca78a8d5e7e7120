"""What happens to workers, and to their broker."""

import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from state.topic import Topic
from tests.support.kafka.broker import MortalBroker
from tests.support.workers import WorkerProcess

SESSION_TIMEOUT_S = 6
WORKERS_MAX = 5


class Cluster:
    """Some workers, at least one of them always well or about to be."""

    def __init__(self, topic: Topic, folder: Path, broker: MortalBroker, seed: int) -> None:
        self.folder = folder
        self.workers: list[WorkerProcess] = []
        self._topic = topic
        self._broker = broker
        self._random = Random(seed)
        self._made = 0
        self._paused: list[tuple[WorkerProcess, float]] = []

    def add(self) -> None:
        self._made += 1
        name = f"w{self._made}"
        reads = self.folder / f"{name}.reads"
        worker = WorkerProcess(
            self._topic,
            self.folder,
            name,
            "tests.support.reading_worker",
            METATIDE_WORKER_FLUSH_S="2",
            TEST_READS=str(reads),
            TEST_TABLES="60",
        )
        worker.start()
        self.workers.append(worker)

    def hurt(self) -> str:
        """Does one thing to one of them; what it was."""
        choices: list[Callable[[], str]] = [self._kill, self._pause, self._lose_store, self._broken]
        if len(self.workers) < WORKERS_MAX:
            choices.append(self._join)
        if len(self.workers) > 2:
            choices.append(self._leave)
        return self._random.choice(choices)()

    def tend(self) -> None:
        """Lets those go on that were stopped for long enough."""
        now = time.monotonic()
        for worker, until in list(self._paused):
            if now >= until:
                worker.send(signal.SIGCONT)
                self._paused.remove((worker, until))

    def heal(self) -> None:
        for worker, _ in self._paused:
            worker.send(signal.SIGCONT)
        self._paused.clear()

    def end(self) -> None:
        self.heal()
        for worker in self.workers:
            if worker.running:
                worker.end(signal.SIGKILL)

    def _one(self) -> WorkerProcess:
        paused = [one for one, _ in self._paused]
        return self._random.choice([one for one in self.workers if one not in paused])

    def _kill(self) -> str:
        worker = self._one()
        worker.end(signal.SIGKILL)
        worker.start()
        return f"kill -9 {worker.name}"

    def _pause(self) -> str:
        if self._paused:
            return self._kill()
        worker = self._one()
        worker.send(signal.SIGSTOP)
        self._paused.append((worker, time.monotonic() + SESSION_TIMEOUT_S + 3))
        return f"stop {worker.name} for longer than its session"

    def _lose_store(self) -> str:
        worker = self._one()
        worker.end(signal.SIGKILL)
        shutil.rmtree(worker.directory.path / "shards", ignore_errors=True)
        worker.start()
        return f"delete the stores of {worker.name}"

    def _broken(self) -> str:
        self._broker.kill()
        self._broker.start()
        return "kill the broker"

    def _join(self) -> str:
        self.add()
        return f"add {self.workers[-1].name}"

    def _leave(self) -> str:
        worker = self._one()
        # Before it has begun, the signal ends it as it ends any process.
        assert worker.end() in (0, -signal.SIGTERM), worker.log.read_text()[-4000:]
        self.workers.remove(worker)
        return f"remove {worker.name}"
