"""Sessions that can't be had, and what is said of errors; without Java."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import py4j.java_gateway
import pytest
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError

from hive.errors import InputError, MachineError, TaskError
from metatide.config import Config
from metatide.spark import login
from metatide.spark import session as sessions
from metatide.spark.session import session


def test_a_running_session_that_speculates_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    conf = {"spark.speculation": "true"}
    running: Any = SimpleNamespace(sparkContext=SimpleNamespace(getConf=lambda: conf))
    monkeypatch.setattr(sessions, "_running", lambda: running)
    with session(Config(), "images") as spark:
        assert spark is running
    with (
        pytest.raises(InputError, match=r"set spark\.speculation to false$"),
        session(Config(), "prewarm", speculates=False),
    ):
        pass


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("one\n  two\n", "Spark: one two"),
        ("a\nCaused by: b\n  at c\nCaused by: d\n  at e", "Spark: Caused by: d"),
        ("x" * 1000, f"Spark: {'x' * 300}"),
        (f"at e\nTaskError: {TaskError('it is gone')}\nat f\n", "Spark: it is gone"),
    ],
)
def test_an_error_of_spark_is_one_line(
    monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    monkeypatch.setattr(sessions, "_running", lambda: object())
    with pytest.raises(MachineError) as caught, session(Config(), "images"):
        raise Py4JError(text)
    assert str(caught.value) == says


def test_a_spark_that_does_not_start_is_told_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def launch(_: object, streams: dict[str, Any]) -> None:
        streams["stdout"].write(b"no room for the heap\n")
        streams["stdout"].flush()
        raise PySparkRuntimeError("exited")

    monkeypatch.setattr(sessions, "_running", lambda: None)
    monkeypatch.setattr(sessions, "launch_gateway", launch)
    monkeypatch.setattr(sessions, "find_java", lambda: None)
    with (
        pytest.raises(MachineError, match=r"^Spark doesn't start.*no room for the heap"),
        session(Config(data_dir=tmp_path), "images"),
    ):
        pass


def test_a_java_that_has_no_context_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the context nor, below spark-submit, the process is there to be ended."""
    ended: list[str] = []
    gateway = SimpleNamespace(shutdown=lambda: ended.append("gateway"), proc=None)
    # What it forgets may be of the session that tests share.
    for name in ("_active_spark_context", "_gateway", "_jvm"):
        monkeypatch.setattr(SparkContext, name, None)
    monkeypatch.setattr(py4j.java_gateway, "get_return_value", None)
    sessions._stop(gateway)
    assert ended == ["gateway"]


def test_a_java_that_is_none_starts_no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "find_java", lambda: "/bin/true")
    with pytest.raises(MachineError, match=r"^/bin/true doesn't start Kafka's client$"):
        login.login_fault("127.0.0.1:1", {}, Path("/nowhere"), 1)
