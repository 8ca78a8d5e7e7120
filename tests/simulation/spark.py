"""A rebuild of all shards on Spark, whose executors are strands."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaException

from hive.errors import MetatideError
from processors.spark.build import Place, build_images
from state.topic import TopicClient
from tests.simulation.scheduler import Process, Scheduler
from tests.simulation.stores import Disk, StorePath
from tests.simulation.threads import SimulatedEvent

NAME: Final = "spark"
_PLACE: Final = Place("images", 0)


def rebuild(scheduler: Scheduler, topic: str) -> Process:
    """Begins to make an image of each shard from the whole topic, in a process of its own."""
    process = Process(scheduler, NAME)
    process.spawn(partial(_rebuild, scheduler, topic), "driver")
    return process


def _rebuild(scheduler: Scheduler, name: str) -> None:
    try:
        client = TopicClient("brokers", name)
        topic = client.describe()
        ends = list(client.ends(range(topic.shards)).items())
        context: Any = _Context(scheduler)
        built = build_images(context, topic, ends, _PLACE)
    except (MetatideError, KafkaException) as error:
        scheduler.note(f"the rebuild ends: {error}")
    else:
        scheduler.note(f"rebuilt {[(image.shard, image.offset) for image in built]}")


class _Context:
    """Spark's context, as far as it is used: it runs a function over tasks at the same time."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._tasks: Sequence[Any] = ()
        self._function: Callable[[Any], Any]

    def setJobDescription(self, _: str) -> None:  # noqa: N802
        pass

    def parallelize(self, tasks: Sequence[Any], _slices: int) -> "_Context":
        self._tasks = tasks
        return self

    def map(self, function: Callable[[Any], Any]) -> "_Context":
        self._function = function
        return self

    def collect(self) -> list[Any]:
        """Raises the first error of a task once all have ended."""
        results: list[Any] = []
        errors: list[Exception] = []
        done = SimulatedEvent(self._scheduler)

        def run(task: Any) -> None:
            try:
                results.append(self._function(task))
            except (MetatideError, KafkaException) as error:
                errors.append(error)
            if len(results) + len(errors) == len(self._tasks):
                done.set()

        for number, task in enumerate(self._tasks):
            self._scheduler.strand.process.spawn(partial(run, task), f"task {number}")
        done.wait()
        if errors:
            raise errors[0]
        return results


class _Folder:
    """A temporary folder on the disk of an executor."""

    def __init__(self, path: Path) -> None:
        self._disk = Disk()
        self._path = path

    def __truediv__(self, name: str) -> StorePath:
        return StorePath(self._disk, self._path / name)


@contextmanager
def scratch() -> Iterator[_Folder]:
    yield _Folder(Path("/simulated") / NAME)
