"""`metatide prewarm` on a real broker and database."""

import json
import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from connectors import topic_admin
from connectors.loads import replica
from connectors.log.last_event import LastEvent
from connectors.publish.headers import RecordHeaders, RecordKind
from hive.errors import InputError, MachineError
from hive.reader.engines import unpooled_engine
from metatide.cli import root
from metatide.cli.prewarm import _load
from metatide.demo.options import Size
from state.records import Change, LoadEnd, Scope, ScopeKind
from state.topic import Topic
from tests.connectors.connector_runs import read, reset_now, write_now
from tests.metatide.demo.workload_runs import filled_store
from tests.support.processes import open_folder
from tests.support.stacks import stack


@pytest.fixture
def url(new_database: Callable[[], str]) -> str:
    url = new_database()
    filled_store(url, Size(tables=12, partitions=300, column_layouts=4)).engine.dispose()
    return url


class Prewarm:
    """The command with a broker, a topic and a database."""

    def __init__(self, kafka: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.topic = Topic(kafka, f"prewarm-{uuid.uuid4().hex[:8]}", 4)
        parsed = sa.make_url(url)
        monkeypatch.setenv("METATIDE_KAFKA_TOPIC", self.topic.name)
        monkeypatch.setenv("METATIDE_KAFKA_PARTITIONS", "4")
        # A command takes it out of the environment.
        self._secrets = {"METATIDE_DATABASE_PASSWORD": parsed.password or "none"}
        plain = parsed._replace(password=None).render_as_string()
        self._options = ("--kafka", kafka, "--database", plain)

    def run(self, *options: str) -> int:
        """How many partitions it says that it has loaded."""
        result = CliRunner(env=self._secrets).invoke(root, ["prewarm", *self._options, *options])
        assert result.exit_code == 0, result.exception
        return int(json.loads(result.stdout.splitlines()[-1])["partitions"])

    def tables(self) -> list[str]:
        """The tables that were loaded, in order of their names."""
        ends = [one.record for one in read(self.topic) if isinstance(one.record, LoadEnd)]
        return sorted(str(end.scope.name) for end in ends if end.scope.kind is ScopeKind.TABLE)


@pytest.fixture
def prewarm(kafka_broker: str, url: str, monkeypatch: pytest.MonkeyPatch) -> Prewarm:
    return Prewarm(kafka_broker, url, monkeypatch)


def test_it_loads_everything_once(prewarm: Prewarm) -> None:
    assert prewarm.run() == 300
    tables = prewarm.tables()
    assert len(tables) == len(set(tables)) == 12
    assert prewarm.run() == 0
    assert prewarm.tables() == tables
    assert prewarm.run("--again") == 300
    assert prewarm.tables() == sorted(tables * 2)


def test_it_loads_what_the_patterns_name(prewarm: Prewarm) -> None:
    prewarm.run("--tables", "*_0.*|*_1.*", "--except", "*_1.*")
    tables = prewarm.tables()
    assert tables
    assert all(table.split(".")[1].endswith("_0") for table in tables)


def test_an_epoch_that_begins_meanwhile_fails_it(
    prewarm: Prewarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin_epoch(topic: Topic, epoch: int) -> set[Scope]:
        reset_now(topic, epoch + 1, LastEvent(0), range(topic.shards))
        return set()

    monkeypatch.setattr("metatide.cli.prewarm.ended_scopes", begin_epoch)
    with pytest.raises(AssertionError, match="an epoch has begun in prewarm-"):
        prewarm.run()


def test_an_epoch_that_has_begun_in_a_part_of_the_topic_is_for_the_connector(
    kafka_broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prewarm = Prewarm(kafka_broker, "postgresql://127.0.0.1:1/x", monkeypatch)
    topic_admin.create(prewarm.topic)
    reset_now(prewarm.topic, 1, LastEvent(0), [0])
    with pytest.raises(
        AssertionError, match=r"some shards of prewarm-\w+ only: run `metatide conn"
    ):
        prewarm.run()


def test_a_database_that_lacks_a_table_is_one_line(prewarm: Prewarm, url: str) -> None:
    engine = unpooled_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text('ALTER TABLE "TBLS" RENAME TO "GONE"'))
    engine.dispose()
    with pytest.raises(AssertionError, match='be read: relation "TBLS" does not exist'):
        prewarm.run()


@pytest.mark.parametrize(
    ("idle", "fault", "given_up", "says"),
    [
        (False, "Kafka is away", 0, "^Kafka is away; what was loaded until now is in prewarm: "),
        (True, None, 3, "^3 of the loads were given up, .* all others are in prewarm$"),
    ],
)
def test_what_was_not_loaded_fails_it(
    idle: bool, fault: str | None, given_up: int, says: str
) -> None:
    calls: list[str] = []
    loader: Any = SimpleNamespace(
        idle=idle,
        fault=fault,
        given_up=given_up,
        start=lambda epoch, listens: calls.append(f"start {epoch} {listens}"),
        stop=lambda: calls.append("stop"),
    )
    with pytest.raises(MachineError, match=says):
        _load(loader, Topic("127.0.0.1:1", "prewarm", 1), 7)
    assert calls == ["start 7 False", "stop"]


def test_a_database_that_is_behind_is_one_line(
    prewarm: Prewarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replica, "WAIT_S", 0)
    topic_admin.create(prewarm.topic)
    changed = RecordHeaders(RecordKind.CHANGE, 0, 1_000_000)
    write_now(prewarm.topic, Change(0, 0, 1_000_000, ()), changed, [2])
    with pytest.raises(AssertionError, match="but event 1000000 was published: if it is a replica"):
        prewarm.run()


def test_a_database_that_does_not_answer_is_one_line(prewarm: Prewarm) -> None:
    nowhere = ("--kafka", prewarm.topic.servers, "--database", "postgresql://127.0.0.1:1/x")
    result = CliRunner().invoke(root, ["prewarm", *nowhere])
    assert isinstance(result.exception, MachineError)
    assert "\n" not in str(result.exception)


def test_it_finds_the_database_that_a_running_stack_was_given(
    kafka_broker: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"prewarm-{uuid.uuid4().hex[:8]}"
    monkeypatch.setenv("METATIDE_KAFKA_TOPIC", name)
    parsed = sa.make_url(url)
    with (
        open_folder() as parent,
        stack(parent / "data", "--kafka", kafka_broker, METATIDE_DATABASE_URL=url),
    ):
        command = ["prewarm", "--data-dir", str(parent / "data")]
        refused = CliRunner().invoke(root, command)
        assert isinstance(refused.exception, InputError)
        assert "set METATIDE_DATABASE_PASSWORD" in str(refused.exception)
        assert str(parsed.password) not in str(refused.exception)
        secrets = {"METATIDE_DATABASE_PASSWORD": parsed.password or "none"}
        result = CliRunner(env=secrets).invoke(root, command, catch_exceptions=False)
    assert int(json.loads(result.stdout.splitlines()[-1])["partitions"]) == 300
