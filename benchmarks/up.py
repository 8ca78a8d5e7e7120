"""Seconds from `metatide up` to /readyz 200, on a new data folder and on one that was used before.

The raw baseline is the slowest part by itself: the broker, with its storage formatted or not, until
it answers a client.
"""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from benchmarks.report import print_line
from metatide.stack.kafka import Kafka
from metatide.stack.ports import Ports
from metatide.stack.state import StateFile

RUNS = 3
PATIENCE_S = 120.0
_POLL_S = 0.02


@contextmanager
def new_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="metatide-bench-") as name:
        # If root runs this, PostgreSQL runs as another user, who must be able to enter the folder.
        Path(name).chmod(0o711)
        yield Path(name)


def up_s(folder: Path) -> float:
    """Starts a stack and ends it again; returns the seconds until it was ready."""
    command = [sys.executable, "-m", "metatide", "up", "--data-dir", str(folder)]
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            while not is_ready(folder):
                assert time.perf_counter() - began < PATIENCE_S, "metatide up does not get ready"
                assert process.poll() is None, "metatide up ended"
                time.sleep(_POLL_S)
            return time.perf_counter() - began
        finally:
            process.send_signal(signal.SIGTERM)


def is_ready(folder: Path) -> bool:
    state = StateFile(folder).read()
    if state is None:
        return False
    try:
        return httpx.get(f"{state.address}/readyz", timeout=10).is_success
    except httpx.TransportError:
        return False


def broker_s(folder: Path) -> float:
    """Starts a broker alone and ends it again; returns the seconds until it answered."""
    began = time.perf_counter()
    kafka = Kafka(folder, Ports(folder / "ports.json"))
    with subprocess.Popen(
        kafka.prepare().argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            while not kafka.answers():
                assert time.perf_counter() - began < PATIENCE_S, "the broker does not answer"
                time.sleep(_POLL_S)
            return time.perf_counter() - began
        finally:
            process.terminate()


def main() -> None:
    for number in range(RUNS):
        with new_folder() as stack, new_folder() as broker:
            for start in ("cold", "warm"):
                print_line(
                    benchmark="up",
                    run=number,
                    data=start,
                    ready_s=round(up_s(stack), 2),
                    broker_alone_s=round(broker_s(broker), 2),
                )


if __name__ == "__main__":
    main()
