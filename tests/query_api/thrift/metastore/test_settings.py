"""What a metastore's settings mean for answers."""

import pytest

from query_api.thrift.metastore.settings import MetastoreSettings, fetch_settings
from query_api.thrift.metastore.upstream import UpstreamSettings
from tests.query_api.thrift.serving import ConfiguredMetastore, Metastore


async def settings_of(**settings: str) -> MetastoreSettings:
    metastore = ConfiguredMetastore(**settings)
    await metastore.start()
    try:
        its_settings = await fetch_settings(UpstreamSettings(), metastore.address)
    finally:
        await metastore.stop()
    assert its_settings is not None
    return its_settings


async def test_what_is_unset_is_as_hive_has_it() -> None:
    assert await settings_of() == MetastoreSettings("hive", "", None, True)


async def test_settings_are_told() -> None:
    its_settings = await settings_of(
        metastore_catalog_default="Spark",
        metastore_warehouse_dir="s3a://lake",
        metastore_txn_opentxn_timeout="1000ms",
        metastore_partition_order_expr='"PARTITIONS"."CREATE_TIME" desc',
    )
    assert its_settings == MetastoreSettings("spark", "s3a://lake", 1000, False)


@pytest.mark.parametrize(
    ("settings", "merges", "has"),
    [
        ({"metastore_stats_fetch_bitvector": "false"}, True, True),
        ({"metastore_stats_ndv_tuner": "0"}, True, True),
        ({"metastore_stats_ndv_tuner": "1.0"}, False, True),
        ({"hive_metastore_stats_ndv_densityfunction": "true"}, False, True),
        ({"metastore_stats_fetch_kll": "true"}, False, True),
        ({"hive_txn_stats_enabled": "False"}, True, False),
    ],
)
async def test_statistics_are_made_as_hive_does_or_otherwise(
    settings: dict[str, str], *, merges: bool, has: bool
) -> None:
    its_settings = await settings_of(**settings)
    assert (its_settings.merges_by_range, its_settings.has_txn_statistics) == (merges, has)


@pytest.mark.parametrize(
    ("settings", "reads_in_sql"),
    [
        ({"metastore_try_direct_sql": "true"}, True),
        ({"metastore_try_direct_sql": "false"}, False),
        ({"hive_metastore_try_direct_sql": "False"}, False),
        ({"metastore_try_direct_sql_ddl": "false"}, False),
    ],
)
async def test_partitions_are_read_in_sql_or_otherwise(
    settings: dict[str, str], *, reads_in_sql: bool
) -> None:
    assert (await settings_of(**settings)).reads_in_sql is reads_in_sql


async def test_the_value_for_a_missing_one_is_told_in_either_spelling() -> None:
    for name in ("metastore_default_partition_name", "hive_exec_default_partition_name"):
        assert (await settings_of(**{name: "__NONE__"})).default_partition == "__NONE__"


@pytest.mark.parametrize(
    ("expression", "orders_by_name"),
    [
        ('"PART_NAME" asc', True),
        (' "PART_NAME"  ASC ', True),
        ("PART_NAME", True),
        ('"PART_NAME" desc', False),
        ('"PART_NAME" asc, "PART_ID" asc', False),
        ('"PARTITIONS"."LAST_ACCESS_TIME" desc', False),
    ],
)
async def test_an_expression_orders_by_name_or_by_something_else(
    expression: str, orders_by_name: bool
) -> None:
    its_settings = await settings_of(metastore_partition_order_expr=expression)
    assert its_settings.orders_by_name is orders_by_name


async def test_nobody_tells_nothing() -> None:
    metastore = Metastore()
    metastore.replies["get_config_value"] = None
    await metastore.start()
    assert await fetch_settings(UpstreamSettings(), metastore.address) is None
    await metastore.stop()
