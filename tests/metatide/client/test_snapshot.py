"""What a snapshot knows of the names of its tables."""

import pytest

from metatide.client import Need
from metatide.client.objects import TableWriteIds, WriteIds
from metatide.client.snapshot import snapshot_of


def written(*names: str) -> WriteIds:
    """What a server tells of tables, by their full names."""
    tables = [
        TableWriteIds(name, 7 + number, f"{name.partition('.')[2]}:{number}:1::")
        for number, name in enumerate(names)
    ]
    return WriteIds("9:1::", tables)


@pytest.mark.parametrize("catalog", ["hive", "spark"])
def test_a_snapshot_knows_tables_by_their_own_names_and_by_the_servers(catalog: str) -> None:
    answer = written(f"{catalog}.sales.orders", "iceberg.sales.lines")
    snapshot = snapshot_of(["Sales.orders", "iceberg.sales.lines", "sales.ORDERS"], answer)
    for name in ("Sales.Orders", "sales.orders", f"{catalog}.sales.orders"):
        assert snapshot.need(name) == Need(write_ids="sales.orders:0:1::", table_id=7)
        own = snapshot.with_committed(name, 1)
        assert own.need("sales.orders").write_ids == f"sales.orders:1:{(1 << 63) - 1}::"
    assert snapshot.need("iceberg.sales.lines").table_id == 8
    for name in ("sales.lines", "other.sales.orders", "sales.other"):
        with pytest.raises(ValueError, match=f"the snapshot has no {name}: name it as"):
            snapshot.need(name)


def test_a_table_of_a_snapshot_has_one_name() -> None:
    with pytest.raises(ValueError, match="by two names"):
        snapshot_of(["sales.orders", "hive.sales.orders"], written("hive.sales.orders"))
