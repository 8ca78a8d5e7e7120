"""What is examined when little is configured."""

import subprocess
import sys
from pathlib import Path

from metatide.config import load
from metatide.doctor import find_target
from metatide.stack.metastore import own_classes
from tests.metatide.stack_folders import write_running_stack


def test_a_running_stack_is_found_in_the_data_directory(tmp_path: Path) -> None:
    write_running_stack(tmp_path)
    target = find_target(load({"data_dir": str(tmp_path)}, environ={}).config)
    assert target.kafka == "127.0.0.1:9092"
    assert target.database_url == "postgresql://metatide:p%40ss%2Fword@127.0.0.1:5432/metastore"
    assert target.upstream is not None
    assert target.upstream.url == "thrift://127.0.0.1:9083"
    assert (target.hive_classpath, target.hive_java) == own_classes()


def test_what_is_configured_stands_above_it(tmp_path: Path) -> None:
    write_running_stack(tmp_path)
    environ = {
        "METATIDE_DATA_DIR": str(tmp_path),
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": "broker:9092",
        "METATIDE_DATABASE_URL": "mysql://hive:tide@db/hms",
        "METATIDE_UPSTREAM_URL": "thrift://hms:9083",
        "METATIDE_THRIFT_HIVE_CLASSPATH": "/opt/hive/lib/*",
        "METATIDE_THRIFT_HIVE_JAVA": "/opt/java/bin/java",
    }
    target = find_target(load(environ=environ).config)
    assert target.kafka == "broker:9092"
    assert target.database_url == "mysql://hive:tide@db/hms"
    assert target.upstream is not None
    assert target.upstream.url == "thrift://hms:9083"
    assert (target.hive_classpath, target.hive_java) == (
        "/opt/hive/lib/*",
        Path("/opt/java/bin/java"),
    )


def test_a_stack_that_was_killed_is_none(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    write_running_stack(tmp_path, gone.pid)
    target = find_target(load({"data_dir": str(tmp_path)}, environ={}).config)
    assert (target.kafka, target.database_url, target.upstream) == (None, None, None)
    assert target.hive_classpath is None
