"""What a shard holds, counted."""

from pathlib import Path

from processors.worker.shard_content import Objects, shard_content
from state.store import MemoryBudget, Store
from state.store.families import SHARD_FAMILIES, shard_identity
from state.topic import Topic
from tests.processors.worker.created_table import TABLE
from tests.query_api.shards import MemoryShard, change, load_table, table_image


def test_tables_are_counted_by_why_they_are_cold(tmp_path: Path) -> None:
    identity = shard_identity(Topic("nowhere", "t", 1, id="id"), 0)
    budget = MemoryBudget(8 << 20)
    with Store(tmp_path / "0", identity, families=SHARD_FAMILIES, budget=budget) as store:
        shard = MemoryShard(
            *load_table(1, table=table_image(TABLE, managed=False)),
            *load_table(1, table=table_image(TABLE._replace(table="open")), ends=False),
            change(1, after=0),
            store=store,
        )
        assert shard.store is store
        store.flush()
        content = shard_content(7, store.snapshot(), store.path)
    assert (content.shard, content.tables_warm) == (7, 1)
    assert content.tables_cold == {"loading": 1}
    assert content.store_bytes > 0
    assert content.objects["tables"].count == 2
    assert content.objects["partitions"] == Objects(0, 0.0)
