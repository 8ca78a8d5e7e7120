"""Faults that are put into real processes under load."""

import os
import time
from pathlib import Path
from random import SystemRandom

import pytest

from tests.support.processes import open_folder
from tests.support.summary import Say
from tests.torture import recovery
from tests.torture.faults import FAULTS
from tests.torture.journal import LOG_BYTES_MAX, Journal
from tests.torture.run import Run, drawn, go_on, verdict
from tests.torture.settling import difference

SEED = 1
SHORT_S = 1.0
FEW, FEW_S = 6, 100.0
FAULTS_OF_TORTURE = 1_000
# Whoever is connected to what is killed or cut off drops the connection.
LOSES_CONNECTIONS = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.torture
@pytest.mark.timeout(900)
@LOSES_CONNECTIONS
def test_each_cheap_fault_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with open_folder() as folder:
        run = Run(journal, folder, reads_per_s=100)
        try:
            for number, fault in enumerate(fault for fault in FAULTS if fault.cheap):
                run.hurt(fault, number, SEED, SHORT_S)
            run.compare()
        finally:
            run.end()
    lines = list(journal.lines())
    assert sum(line.get("reads", 0) for line in lines) > 100
    assert verdict(lines) == []


@pytest.mark.random
@pytest.mark.timeout(900)
@LOSES_CONNECTIONS
def test_a_few_faults(tmp_path: Path, say: Say) -> None:
    """TORTURE_SEED=SEED repeats their order."""
    began, section = time.monotonic(), "faults in real processes"
    seed = int(os.environ.get("TORTURE_SEED") or SystemRandom().randrange(1_000_000))
    say(section, f"TORTURE_SEED={seed}")
    journal = Journal(tmp_path)
    with open_folder() as folder:
        run = Run(journal, folder, reads_per_s=100)
        try:
            for number in range(FEW):
                if number == 0 or time.monotonic() - began < FEW_S:
                    run.hurt(drawn(seed, number), number, seed, SHORT_S)
            run.compare()
        finally:
            run.end()
    for line in journal.faults():
        say(section, f"{line['fault']}: warm again after {line['recovery_s']} s")
    assert verdict(list(journal.lines())) == []


@pytest.mark.torture
@pytest.mark.timeout(0)
@LOSES_CONNECTIONS
def test_a_thousand_faults(tmp_path: Path) -> None:
    folder = Path(os.environ.get("TORTURE_FOLDER", tmp_path))
    faults = int(os.environ.get("TORTURE_FAULTS", FAULTS_OF_TORTURE))
    journal = go_on(folder, SEED, faults)
    assert verdict(list(journal.lines())) == []


def test_each_kind_comes_once_in_each_round() -> None:
    for begin in (0, len(FAULTS)):
        names = {drawn(SEED, begin + number).name for number in range(len(FAULTS))}
        assert names == {fault.name for fault in FAULTS}


def test_the_table_shows_the_wrong_and_the_slow() -> None:
    line = {"fault": "f", "wrong": [], "recovery_s": 2.0}
    lines = [line, {**line, "wrong": ["x"], "recovery_s": 3.0}, {**line, "recovery_s": None}]
    rows = list(recovery.table(lines))
    assert rows[2:] == ["| f | 3 | 1 | 2.0 | 3.0 |"]
    assert verdict(lines) == lines[1:]
    assert verdict([{"compared": True, "lost": [], "different": ["x"], "warm_s": 1.0}])
    assert verdict([{**line, "output": ["worker-1: Traceback (most recent call last):"]}])


def test_a_store_that_is_behind_has_no_other_bytes() -> None:
    """A worker killed before it has flushed its stores proves nothing about what it held."""
    replayed = {"offset": 9, "exact": "a", "content": {"t": "1", "u": None}}
    behind = {"offset": 8, "exact": "b", "content": {"t": "2", "u": "3"}}
    ahead = {**behind, "offset": 10, "content": replayed["content"]}
    assert difference(replayed, replayed, exact=True) is None
    assert difference(behind, replayed, exact=True) == "the store ends at offset 8, the topic at 9"
    assert "lost records" in str(difference(ahead, replayed, exact=True))
    assert difference(ahead, replayed, exact=False) is None
    other = {**behind, "offset": 9}
    assert difference(other, replayed, exact=False) == "readers see another t"
    same = {**other, "content": replayed["content"]}
    assert difference(same, replayed, exact=True) == "other bytes: b, not a"


def test_logs_outlive_their_run(tmp_path: Path) -> None:
    log = tmp_path / "worker-1.log"
    log.write_bytes(b"old " + bytes(LOG_BYTES_MAX - 3) + b"end")
    Journal(tmp_path / "journal").keep_logs(7, [log])
    end = (tmp_path / "journal" / "logs-7" / "worker-1.log").read_bytes()
    assert len(end) == LOG_BYTES_MAX
    assert end.endswith(b"end")
