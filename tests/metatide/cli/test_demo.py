"""`metatide demo` as a command."""

import json
import os
import subprocess
import sys
from collections.abc import Callable

from click.testing import CliRunner

from metatide.cli import root
from metatide.demo.store import Store
from tests.metatide.demo import workload_runs
from tests.metatide.demo.row_model import RowModel


def demo(url: str, *arguments: str) -> list[dict[str, float]]:
    environment = {"METATIDE_DATABASE_URL": url}
    result = CliRunner(env=environment).invoke(root, ["demo", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_run_shows_its_rate_as_json_lines_and_ends(new_database: Callable[[], str]) -> None:
    url = new_database()
    size = ("--tables", "10", "--partitions", "20")
    lines = demo(url, "run", *size, "--events", "50", "--writers", "2")
    assert lines[-1].keys() == {"seconds", "events", "events_per_s", "events_per_s_mean"}
    assert lines[-1]["events"] == len(workload_runs.rows(Store(url))) > 50


def test_a_run_ends_quietly_once_nobody_reads_its_rate(new_database: Callable[[], str]) -> None:
    command = [sys.executable, "-m", "metatide", "demo", "run", "--tables", "10"]
    with subprocess.Popen(
        # In the background of a shell, programs ignore SIGINT.
        ["/bin/sh", "-c", 'trap "" INT; exec "$@"', "sh", *command, "--partitions", "20"],
        env={**os.environ, "METATIDE_DATABASE_URL": new_database()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            assert json.loads(process.stdout.readline())["seconds"] > 0
            process.stdout.close()
            assert process.wait(60) == 1
        finally:
            process.kill()
        assert process.stderr.read() == b""


def test_a_fill_counts_partitions(new_database: Callable[[], str]) -> None:
    url = new_database()
    lines = demo(url, "fill", "--tables", "10", "--partitions", "70")
    assert lines[-1]["partitions"] == 70
    assert len(RowModel(Store(url)).tables) == 10


def test_a_log_is_as_long_as_was_asked_for(new_database: Callable[[], str]) -> None:
    url = new_database()
    demo(url, "log", "--events", "300", "--hive-version", "4.0")
    assert 300 <= len(workload_runs.rows(Store(url))) < 350


def test_without_a_database_it_says_where_one_comes_from(tmp_path: object) -> None:
    result = CliRunner().invoke(root, ["demo", "run", "--data-dir", str(tmp_path)])
    assert "start `metatide up`, or give --database" in str(result.exception)
    assert f"looked for in {tmp_path} (--data-dir)" in str(result.exception)
