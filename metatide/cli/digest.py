"""`metatide digest`: tells whether two stores hold the same."""

import sys
from pathlib import Path
from typing import Any

import click
import orjson

from state import digest
from state.store import MemoryBudget, ReadOnlyStore
from state.store.families import SHARD_FAMILIES

_BUDGET = MemoryBudget(64 * 1024 * 1024)
_STORE = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.argument("store", type=_STORE)
@click.argument("other", type=_STORE, required=False)
def command(store: Path, other: Path | None) -> None:
    """Print the digests of a shard's STORE, or compare it with an OTHER one.

    A store is the directory of a stopped worker's shard, or of an image. "exact" is equal if the
    same records were folded. "content" covers what readers see: a digest for each table and each
    list of names, null where the shard doesn't know. A comparison covers the content that both
    shards know; the exit status is 1 if any of it differs.
    """
    if other is None:
        click.echo(orjson.dumps(_digests(store), option=orjson.OPT_INDENT_2))
        return
    digests, other_digests = _digests(store)["content"], _digests(other)["content"]
    both = sorted(
        name
        for name in digests.keys() & other_digests.keys()
        if digests[name] and other_digests[name]
    )
    different = [name for name in both if digests[name] != other_digests[name]]
    compared = {
        "compared": len(both),
        "different": different,
        "in_one_only": len(digests.keys() | other_digests.keys()) - len(both),
    }
    click.echo(orjson.dumps(compared, option=orjson.OPT_INDENT_2))
    sys.exit(bool(different))


def _digests(path: Path) -> dict[str, Any]:
    with ReadOnlyStore(path, families=SHARD_FAMILIES, budget=_BUDGET) as store:
        view, position = store.snapshot(), store.position
        return {
            "shard": store.identity.shard,
            "topic_id": store.identity.topic_id,
            "epoch": position.epoch,
            "event_id": position.applied,
            "offset": position.offset,
            "exact": digest.exact(view),
            "content": digest.content(view),
        }
