"""How far the tasks of a Spark job are, on a terminal."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from pyspark import SparkContext

_LOOK_S = 0.2


@contextmanager
def showing_tasks(context: "SparkContext", tasks: int) -> Iterator[None]:
    """A bar over the tasks of the jobs that run meanwhile; nothing without a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (TextColumn("tasks"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    ended = threading.Event()
    with Progress(*columns, console=console, transient=True) as bars:
        bar = bars.add_task("", total=tasks)

        def watch() -> None:
            while not ended.wait(_LOOK_S):
                bars.update(bar, completed=_done(context))

        thread = threading.Thread(target=watch, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _done(context: "SparkContext") -> int:
    tracker = context.statusTracker()
    stages = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
    return sum(stage.numCompletedTasks for stage in stages if stage is not None)
