"""However many shards share the work, together they hold what one would."""

from pathlib import Path

import pytest

from connectors.publish.routing import route
from connectors.publish.translate import translate
from hive.events.decode import decode
from hive.events.row import row_from_json
from hive.names import table_name
from processors.fold import Fold
from state import digest
from state.records import Change
from state.records.actions import DropTable, RenameTable, Side
from state.records.objects import TableImage
from state.records.routing import table_shard
from state.store import MemoryStore

DATA = Path(__file__).parents[2] / "data" / "hive-4.2.0"


def contents(log: str, shards: int) -> dict[str, str | None]:
    """What all shards tell together, each folded from its own records alone."""
    views = [MemoryStore().transaction() for _ in range(shards)]
    folds = [Fold(view) for view in views]
    for line in (DATA / log / "log.jsonl").read_text().splitlines():
        row = row_from_json(line)
        for shard, actions in route(translate(decode(row)), shards).items():
            folds[shard].apply(Change(0, folds[shard].applied, row.event_id, actions))
    content: dict[str, str | None] = {}
    for shard, fold in enumerate(folds):
        fold.flush()
        shard_content = digest.content(views[shard])
        assert not content.keys() & shard_content.keys() - {"databases hive", "databases cat_w"}
        content |= shard_content
    return content


@pytest.mark.parametrize("log", ["every-event-json", "four-writers", "one-writer"])
@pytest.mark.parametrize("shards", [2, 12])
def test_shards_tell_together_what_one_would(log: str, shards: int) -> None:
    assert contents(log, shards) == contents(log, 1)


def renamed(old: str, new: str) -> RenameTable:
    image = TableImage(table_name(None, "db", new), 1, 0, False, False, b"")
    return RenameTable(table_name(None, "db", old), image, Side.BOTH)


def halves(whole: RenameTable) -> list[tuple[object, RenameTable]]:
    old, new = whole.old, whole.table.name
    return [
        (old, RenameTable(old, whole.table, Side.OLD)),
        (new, RenameTable(old, whole.table, Side.NEW)),
    ]


def test_a_rename_is_halved_between_shards_and_whole_within_one() -> None:
    names = [f"t{number}" for number in range(20)]
    shard_of = {name: table_shard(table_name(None, "db", name), 4) for name in names}
    here = shard_of["t0"]
    near = next(name for name in names[1:] if shard_of[name] == here)
    far = next(name for name in names[1:] if shard_of[name] != here)
    within = renamed("t0", near)
    assert route(halves(within), 4) == {here: (within,)}  # type: ignore[arg-type]
    routed = route(halves(renamed("t0", far)), 4)  # type: ignore[arg-type]
    sides = {shard: [action.sides for action in actions] for shard, actions in routed.items()}  # type: ignore[union-attr]
    assert sides == {here: [Side.OLD], shard_of[far]: [Side.NEW]}


def test_halves_of_two_renames_stay_apart() -> None:
    """Of a broken log, in which rows of one event id rename two tables."""
    renames = renamed("a", "b"), renamed("c", "d")
    old_halves = [halves(whole)[0] for whole in renames]
    [actions] = route(old_halves, 1).values()  # type: ignore[arg-type]
    assert actions == tuple(half for _, half in old_halves)


def test_an_action_that_reaches_a_shard_twice_is_there_once() -> None:
    table = table_name(None, "db", "t")
    action = DropTable(table)
    assert route([(table, action), (table, action)], 1) == {0: (action,)}
