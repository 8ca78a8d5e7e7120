"""Puts one fault after the other into a stack under load."""

import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

from tests.support.processes import open_folder
from tests.torture.faults import FAULTS, Fault
from tests.torture.history import Truth
from tests.torture.journal import Journal
from tests.torture.parts import Parts
from tests.torture.reading import Readers
from tests.torture.settling import differences, lost_events, seconds_until_warm
from tests.torture.stand import WORKERS, Stand
from tests.torture.writing import Writers

COMPARED_EVERY: Final = 10
READS_PER_S: Final = 500
SLOW_S: Final = 25.0
"""Logs are kept of a recovery that takes longer."""


def drawn(seed: int, number: int) -> Fault:
    """The fault of this number; each kind comes once in as many as there are kinds."""
    order = list(FAULTS)
    Random(f"{seed}/{number // len(FAULTS)}").shuffle(order)
    return order[number % len(FAULTS)]


class Run:
    """A stack in a folder of its own, and a journal that outlives it."""

    def __init__(self, journal: Journal, folder: Path, reads_per_s: float = READS_PER_S) -> None:
        self._journal = journal
        self._stand, self._truth = Stand(folder), Truth()
        self._readers: Readers | None = None
        self._loses_records = False
        try:
            self._stand.start()
            stand = self._stand
            writers = Writers(stand.url, stand.metastore.address, self._truth)
            self._parts = Parts(stand, self._truth, writers)
            ports = [(stand.port(worker), stand.thrift_port(worker)) for worker in WORKERS]
            self._readers = Readers(ports, writers.database.name, self._truth, reads_per_s)
            assert seconds_until_warm(self._parts) is not None, "the stack doesn't become warm"
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        self._truth.stop.set()
        if self._readers is not None:
            self._readers.join()
            self._parts.writers.end()
        self._stand.end()

    def hurt(self, fault: Fault, number: int, seed: int, longest_s: float | None = None) -> None:
        """Puts a fault in and takes it away; writes into the journal what came of it."""
        truth, random = self._truth, Random(f"{seed}/{number}/{fault.name}")
        if fault.needs_disk and not self._stand.own_disk:
            return
        began, wrong, before = time.time(), len(truth.wrong), truth.counts()
        seconds = random.uniform(*fault.seconds)
        with fault.hurt(self._parts, random):
            time.sleep(seconds if longest_s is None else min(longest_s, seconds))
        self._loses_records |= fault.loses_records
        recovery_s = seconds_until_warm(self._parts)
        line: dict[str, object] = {
            "number": number,
            "seed": seed,
            "fault": fault.name,
            "began": round(began, 3),
            "seconds": round(time.time() - began, 2),
            "recovery_s": recovery_s,
            "wrong": truth.wrong[wrong:],
            "output": self._stand.unexpected_output(fault.last_words),
        }
        self._journal.add(line | dict(truth.counts() - before))
        if verdict([line]) or (recovery_s or 0) > SLOW_S:
            self._journal.keep_logs(number, self._stand.folder.glob("*.log"))

    def compare(self) -> None:
        """Nobody writes, and stores are compared with what the topic says."""
        self._stand.programs["mix"].end()
        with self._parts.writers.paused():
            warm_s = seconds_until_warm(self._parts)
            lost = lost_events(self._parts)
            exact = not self._loses_records
            different = differences(self._stand, exact=exact)
            self._loses_records = False
            restarted_s = seconds_until_warm(self._parts)
        self._journal.add(
            {
                "compared": True,
                "exact": exact,
                "warm_s": warm_s,
                "restarted_s": restarted_s,
                "lost": lost,
                "different": different,
                "output": self._stand.unexpected_output(),
            }
        )


def go_on(folder: Path, seed: int, faults: int) -> Journal:
    """Puts in what the journal of the folder lacks of so many faults."""
    journal = Journal(folder)
    with open_folder() as own:
        run = Run(journal, own)
        try:
            for number in range(len(journal.faults()), faults):
                run.hurt(drawn(seed, number), number, seed)
                if (number + 1) % COMPARED_EVERY == 0:
                    run.compare()
        finally:
            run.end()
    return journal


def verdict(lines: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """The lines of a journal that tell of something wrong."""
    return [
        line
        for line in lines
        if line.get("wrong")
        or line.get("output")
        or line.get("lost")
        or line.get("different")
        or (line.get("recovery_s", 0) is None)
        or (line.get("warm_s", 0) is None)
        or (line.get("restarted_s", 0) is None)
    ]
