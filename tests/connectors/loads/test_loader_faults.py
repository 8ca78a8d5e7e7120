"""What a loader without brokers or a database does."""

import threading
from typing import NoReturn, cast

import pytest

from connectors.loads import loader as loader_module
from connectors.loads.batch import Database
from connectors.loads.kafka_sink import KafkaSink
from connectors.loads.loader import Loader
from hive.errors import PublishError, SourceError, StoppedError
from hive.names import TableName
from hive.reader.engines import unpooled_engine
from hive.schema import Version
from state.records import Scope, ScopeKind
from state.records.signals import LoadRequest, ResetTableOrder
from state.topic import Topic

PATIENCE_S = 60
NOWHERE = unpooled_engine("postgresql://127.0.0.1:1/nowhere")
AWAY = Topic("127.0.0.1:1", "away", 1)
SCOPE = Scope(ScopeKind.TABLE, TableName("hive", "db", "t"))


def faults(loader: Loader, kind: str) -> float:
    value = loader.metrics.registry.get_sample_value("metatide_loads_faults_total", {"kind": kind})
    return value or 0.0


def test_a_load_that_is_stopped_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    loader = Loader(NOWHERE, AWAY, workers=1)
    begun = threading.Event()

    def wait(*_: object) -> int:
        begun.set()
        loader._stopped.wait()
        raise StoppedError

    monkeypatch.setattr(loader, "_load", wait)
    loader.ask(LoadRequest(0, SCOPE, 0))
    loader.start(0, listens=False)
    assert begun.wait(PATIENCE_S)
    loader.stop()
    assert loader.fault is None
    assert (faults(loader, "source"), faults(loader, "publish"), loader.backlog) == (0, 0, 1)


def test_what_is_taken_as_an_epoch_begins_is_loaded_in_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loader, loaded = Loader(NOWHERE, AWAY), list[int]()

    def load(_: object, epoch: int, __: object) -> int:
        loaded.append(epoch)
        return 0

    monkeypatch.setattr(loader, "_load", load)
    loader.ask(LoadRequest(0, SCOPE, 0))
    loader._epoch = 1
    for epoch in (0, 1):
        loader._load_next(cast(KafkaSink, None), epoch)
    assert loaded == [1]


def test_signals_that_cant_be_read_are_a_fault_and_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attempts, has_failed_twice = list[Topic](), threading.Event()

    def fail(topic: Topic) -> NoReturn:
        attempts.append(topic)
        if len(attempts) == 2:
            has_failed_twice.set()
        raise PublishError("the topic can't be created")

    monkeypatch.setattr(loader_module, "SignalsConsumer", fail)
    monkeypatch.setattr(loader_module, "_RETRY_S_MAX", 0.01)
    loader = Loader(NOWHERE, AWAY, workers=0)
    loader.start(0)
    assert has_failed_twice.wait(PATIENCE_S)
    loader.stop()
    assert str(loader.fault) == "the topic can't be created"
    assert faults(loader, "publish") > 1


def test_an_order_that_needs_a_database_which_is_away_waits_for_it() -> None:
    loader = Loader(NOWHERE, AWAY)
    loader._database = Database(NOWHERE, Version.V4_1)
    with pytest.raises(SourceError, match="the metastore's database can't be read"):
        loader._carry_out(ResetTableOrder(0, SCOPE.name, load=False), 0)
