"""Data folders of stacks that seem to run."""

import os
from pathlib import Path

from metatide.stack.state import ProcessState, StackState, StateFile


def write_running_stack(folder: Path, pid: int | None = None) -> None:
    """Writes what a stack of its own parts leaves in its folder; by default this process is it."""
    (folder / "postgres").mkdir()
    (folder / "postgres" / "password").write_text("p@ss/word")
    processes = [
        ProcessState("kafka", "127.0.0.1:9092"),
        ProcessState("postgres", "postgresql://metatide@127.0.0.1:5432/metastore"),
        ProcessState("metastore", "thrift://127.0.0.1:9083"),
    ]
    StateFile(folder).write(StackState(pid or os.getpid(), "http://127.0.0.1:8080", processes))
