"""Progress bars of Spark commands."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from metatide.process.consoles import PlainConsole
from metatide.process.ticks import ticking

if TYPE_CHECKING:
    from pyspark import SparkContext

_LOOK_S = 0.2


@contextmanager
def showing_tasks(context: "SparkContext", tasks: int) -> Iterator[None]:
    """A progress bar over the tasks of the running jobs; nothing without a terminal."""
    console = PlainConsole(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (TextColumn("tasks"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bars, ticking(_LOOK_S) as ticks:
        bar = bars.add_task("", total=tasks)
        ticks(lambda: bars.update(bar, completed=_done(context)))
        yield


def _done(context: "SparkContext") -> int:
    tracker = context.statusTracker()
    stages = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
    return sum(stage.numCompletedTasks for stage in stages if stage is not None)
