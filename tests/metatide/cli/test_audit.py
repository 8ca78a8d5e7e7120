"""What `metatide audit` refuses; with a stack, see `tests.metatide.worker.test_shards`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner
from starlette.routing import BaseRoute

from hive.errors import InputError, UnprovedError
from metatide.cli import audit, root
from query_api.audit import Audited
from query_api.audit.operations import AUDITS
from query_api.http.access import OPEN
from query_api.http.gate import Gate
from query_api.http.routes import routes_of
from query_api.reasons import Reason
from query_api.shards import Views
from state.records import Scope
from tests.metatide.ordered_worker import proving
from tests.query_api.shards import MemoryShard, MemoryShards


@pytest.mark.parametrize("option", ["--sample", "--seed"])
def test_named_tables_are_no_sample(option: str) -> None:
    arguments = ["audit", "--table", "sales.orders", option, "3", "--kafka", "127.0.0.1:1"]
    with pytest.raises(InputError, match="leave out --sample and --seed"):
        CliRunner().invoke(root, arguments, catch_exceptions=False)


class Owner:
    """Compares all that it is asked for, or has none of it."""

    views = Views(MemoryShards(MemoryShard()))

    def __init__(self, objects: int) -> None:
        self._objects = objects

    async def audit(self, scopes: Sequence[Scope]) -> list[Audited]:
        left_out = {} if self._objects else {"table": str(Reason.NOT_OWNED)}
        return [Audited(scope, objects=self._objects, left_out=left_out) for scope in scopes]


def routes(objects: int) -> list[BaseRoute]:
    auditor: Any = Owner(objects)
    return [*routes_of(AUDITS, auditor, Gate(OPEN))]


@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize("objects", [0, 3])
def test_a_member_of_the_group_that_proves_nothing_is_named_and_left_out(
    tmp_path: Path,
    workers_secret: Path,
    monkeypatch: pytest.MonkeyPatch,
    objects: int,
    is_last: bool,
) -> None:
    monkeypatch.setenv("METATIDE_WORKER_SECRET_FILE", str(workers_secret))
    monkeypatch.setattr(audit, "events_topic", lambda _: None)
    with (
        proving(None, routes(9), "127.0.0.1") as stranger,
        proving(workers_secret, routes(objects)) as url,
    ):
        members = [url, stranger] if is_last else [stranger, url]
        monkeypatch.setattr(audit, "worker_urls", lambda *_: members)
        command = ["audit", "--data-dir", str(tmp_path)]
        drawn = CliRunner().invoke(root, command)
        named = CliRunner().invoke(root, [*command, "--table", "sales.orders"])
        members = [stranger]
        alone = CliRunner().invoke(root, command)
    assert drawn.stderr.startswith(f"left out: {stranger.removeprefix('http://')} doesn't prove")
    assert (drawn.exit_code, drawn.stderr.count("left out")) == (0, 1)
    compared = orjson.loads(named.stdout)["totals"]
    assert compared["objects"]["seen"] == objects
    assert compared["left_out"] == ({} if objects else {"not_owned": 1})
    assert isinstance(alone.exception, UnprovedError)
