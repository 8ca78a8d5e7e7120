"""Checks at the end: the cache equals the database, and can be rebuilt."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from metatide.cli import root
from processors.directory import WorkerDirectory, worker_path
from tests.differential.world import Standing
from tests.support.processes import open_folder

PATIENCE_S = 400.0
Digests = dict[int, dict[str, Any]]


def audit(standing: Standing) -> dict[str, Any]:
    """The result of `metatide audit` for everything."""
    return dict(json.loads(_metatide(standing, "audit", "--json", status_max=1)))


def assert_builds_agree(standing: Standing, *, with_spark: bool) -> None:
    """Stops the stack; asserts that its stores, a replay of the topic and images have the same
    content.
    """
    workers = [f"worker-{number}" for number in standing.world.numbers()]
    for worker in workers:
        # On a busy machine, shards may be on their way to another worker.
        standing.stack.until_live(worker)
        _metatide(standing, "image", "create", METATIDE_WORKER_NAME=worker)
    standing.stack.end()
    with open_folder() as folder:
        live: Digests = {}
        for worker in workers:
            # A worker also has what is left of shards that others own now.
            for shard, digest in _digests(standing, standing.stack.folder, worker).items():
                if shard not in live or live[shard]["event_id"] < digest["event_id"]:
                    live[shard] = digest
        replayed, restored = folder / "replayed", folder / "restored"
        _metatide(standing, "rebuild", METATIDE_DATA_DIR=str(replayed))
        _metatide(standing, "image", "restore", METATIDE_DATA_DIR=str(restored))
        digests = {"replay": replayed, "image": restored}
        if with_spark:
            images = f"file://{folder / 'images'}"
            digests["Spark"] = folder / "spark"
            _metatide(standing, "rebuild", "--engine", "spark", METATIDE_IMAGES_URL=images)
            _metatide(
                standing,
                *("image", "restore"),
                METATIDE_DATA_DIR=str(digests["Spark"]),
                METATIDE_IMAGES_URL=images,
            )
        for name, data_dir in digests.items():
            _assert_same(live, _digests(standing, data_dir), name)


def _assert_same(live: Digests, other: Digests, name: str) -> None:
    assert live.keys() == other.keys(), name
    for shard, mine in live.items():
        theirs = other[shard]
        place = f"shard {shard}: live at {mine['event_id']}, {name} at {theirs['event_id']}"
        if (mine["epoch"], mine["offset"]) == (theirs["epoch"], theirs["offset"]):
            assert mine["exact"] == theirs["exact"], place
        content = mine["content"], theirs["content"]
        different = [
            scope
            for scope in sorted(content[0].keys() & content[1].keys())
            if None not in (sides := (content[0][scope], content[1][scope]))
            and sides[0] != sides[1]
        ]
        assert not different, f"{place}: {different}"


def _digests(standing: Standing, data_dir: Path, worker: str | None = None) -> Digests:
    worker = worker or standing.environment()["METATIDE_WORKER_NAME"]
    directory = WorkerDirectory(worker_path(data_dir, worker))
    return {shard: _digest(directory.store(shard)) for shard in directory.shards()}


def _digest(store: Path) -> dict[str, Any]:
    # A process for each store would take longer than all else that is done here.
    done = CliRunner().invoke(root, ["digest", str(store)])
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.stdout))


def _metatide(standing: Standing, *arguments: str, status_max: int = 0, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "metatide", *arguments],
        env={**os.environ, **standing.environment(), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    # An audit that finds differences ends with status 1, as does one that can't be made.
    is_right = done.returncode == 0 or (done.returncode <= status_max and done.stdout)
    assert is_right, f"{arguments}: {done.stderr[-3000:]}"
    return done.stdout
