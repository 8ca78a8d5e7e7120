"""Operations on a real metastore that leave something of everything in its database."""

from typing import Any

from tests.support.hive import hms_objects as objects
from tests.support.hive.hms_client import HmsClient

TYPES = {
    "id": "bigint",
    "price": "decimal(10,2)",
    "day": "date",
    "at": "timestamp",
    "ratio": "double",
    "name": "string",
    "raw": "binary",
    "ok": "boolean",
}
KEYS = {"ds": "date", "region": "string"}
ODD = ["2024-01-01", "50% /a=b:ü"]


def run(client: HmsClient, db: str) -> None:
    """Leaves objects in two databases, `db` and `db`_2."""
    client.create_database(db, parameters={"a": "1", "b": ""}, description="with a\ntext")
    client.create_database(f"{db}_2")
    wide = _acid(client, db)
    _external(client, db)
    _plain(client, db)
    _views(client, db)
    _constraints(client, db, wide)
    client.create_function(db, "fun", "org.example.Fun")
    client.create_function(f"{db}_2", "Fun2", "org.example.Fun2")
    _write_ids(client, db)
    _renamed(client, db)


def _acid(client: HmsClient, db: str) -> Any:
    """A partitioned transactional table with descriptors' odd parts, statistics, an altered
    partition, a renamed one and a dropped one."""
    t = client.t
    sd = objects.storage(
        TYPES,
        numBuckets=4,
        bucketCols=["id"],
        parameters={"of": "the descriptor"},
    )
    table = client.create_table(objects.table(db, "acid", TYPES, KEYS, sd=sd))
    txn = client.open_transaction()
    write_id = client.allocate_write_id(txn, db, "acid")
    values = [["2024-01-01", "eu"], ODD, ["2024-01-02", "us"], ["2024-01-03", "us"]]
    client.add_partitions(table, values, write_id=write_id)
    client.commit(txn)
    txn = client.open_transaction()
    write_id = client.allocate_write_id(txn, db, "acid")
    by_value = {tuple(one.values): one for one in client.partitions(db, "acid")}
    altered = by_value["2024-01-01", "eu"]
    altered.parameters = {**altered.parameters, "numFiles": "3", "Ünï": "✓"}
    lists = client.valid_write_ids(db, "acid", client.valid_transactions(txn))
    client.alter_partitions(table, [altered], write_id=write_id, valid_write_ids=lists)
    figures = _figures(t)
    client.update_statistics(
        table, figures, partition=_name(ODD), write_id=write_id, valid_write_ids=lists
    )
    client.commit(txn)
    renamed = by_value["2024-01-02", "us"]
    renamed.values = ["2024-02-02", "us"]
    client.rename_partition(table, ["2024-01-02", "us"], renamed)
    client.rpc.drop_partition_by_name(db, "acid", "ds=2024-01-03/region=us", False)
    return table


def _external(client: HmsClient, db: str) -> None:
    """Skew, a serde with parameters, columns that changed for the table and not for partitions."""
    t = client.t
    skew = t.SkewedInfo(
        skewedColNames=["name"],
        skewedColValues=[["x"], ["y"]],
        skewedColValueLocationMaps={},
    )
    sd = objects.storage(
        TYPES,
        skewedInfo=skew,
        storedAsSubDirectories=True,
        compressed=True,
        numBuckets=2,
        bucketCols=["id", "name"],
        sortCols=[t.Order(col="id", order=1), t.Order(col="day", order=0)],
        parameters={"of": "the descriptor"},
    )
    sd.serdeInfo.parameters["field.delim"] = "\t"
    wanted = objects.table(
        db, "external", TYPES, KEYS, sd=sd, transactional=False, parameters={"comment": "outside"}
    )
    table = client.create_table(wanted)
    client.add_partitions(table, [["2024-01-01", "eu"], ["2024-01-02", "eu"]])
    table.sd.cols.append(t.FieldSchema(name="more", type="struct<a:int>", comment="new"))
    client.alter_table(db, "external", table)
    client.update_statistics(table, _figures(t)[:2], partition="ds=2024-01-01/region=eu")
    client.truncate(db, "external")


def _plain(client: HmsClient, db: str) -> None:
    """A table without partitions, with statistics of all types, whose name was used before."""
    for _ in range(2):
        table = client.create_table(objects.table(db, "plain", TYPES, transactional=False))
        client.update_statistics(table, _figures(client.t)[:1])
        client.rpc.drop_table(db, "plain", False)
    table = client.create_table(objects.table(db, "plain", TYPES, transactional=False))
    client.update_statistics(table, _figures(client.t))
    client.update_statistics(table, [objects.long_statistics("id", numNulls=7, numDVs=70)])


def _views(client: HmsClient, db: str) -> None:
    view = objects.table(
        db,
        "view",
        {"id": "bigint"},
        transactional=False,
        tableType="VIRTUAL_VIEW",
        viewOriginalText="select id from acid",
        viewExpandedText="select `acid`.`id` from `acid`",
        parameters={},
    )
    view.parameters = {}
    client.create_table(view)


def _constraints(client: HmsClient, db: str, parent: Any) -> None:
    t = client.t
    own = {"catName": "hive", "enable_cstr": False, "validate_cstr": False, "rely_cstr": True}

    def of(name: str) -> dict[str, Any]:
        return {"table_db": db, "table_name": name, **own}

    client.rpc.add_primary_key(
        t.AddPrimaryKeyRequest(
            primaryKeyCols=[
                t.SQLPrimaryKey(column_name="name", key_seq=2, pk_name="PK", **of("acid")),
                t.SQLPrimaryKey(column_name="id", key_seq=1, pk_name="PK", **of("acid")),
            ]
        )
    )
    child = objects.table(db, "child", {"a": "bigint", "b": "string", "c": "int"}, {"p": "string"})
    foreign = [
        t.SQLForeignKey(
            pktable_db=db,
            pktable_name="acid",
            pkcolumn_name=pk,
            fktable_db=db,
            fktable_name="child",
            fkcolumn_name=fk,
            key_seq=seq,
            update_rule=0,
            delete_rule=0,
            fk_name="fk",
            pk_name="pk",
            **own,
        )
        for seq, (fk, pk) in enumerate([("a", "id"), ("b", "name")], 1)
    ]
    unique = t.SQLUniqueConstraint(column_name="a", key_seq=1, uk_name="uk", **of("child"))
    default = t.SQLDefaultConstraint(
        column_name="b", default_value="'it''s'", dc_name="dc", **of("child")
    )
    check = t.SQLCheckConstraint(
        column_name="c", check_expression="c > 0", dc_name="cc", **of("child")
    )
    made = client.create_table(
        child,
        {
            "foreignKeys": foreign,
            "uniqueConstraints": [unique],
            "defaultConstraints": [default],
            "checkConstraints": [check],
        },
    )
    for column in ("a", "b", "p"):
        client.add_not_null(made, column, f"nn_{column}")
    client.drop_constraint(made, "nn_b")
    del parent


def _write_ids(client: HmsClient, db: str) -> None:
    """Ids that are committed, aborted and open."""
    client.create_table(objects.table(db, "busy", {"id": "bigint"}))
    txns = client.open_transactions(6)
    for txn in txns:
        client.allocate_write_id(txn, db, "busy")
    for txn in (txns[0], txns[3]):
        client.commit(txn)
    client.abort(txns[1])


def _renamed(client: HmsClient, db: str) -> None:
    table = client.create_table(objects.table(db, "before", {"id": "bigint"}, {"k": "int"}))
    client.add_partitions(table, [["1"], ["2"]])
    table.tableName = "after"
    table.dbName = f"{db}_2"
    client.alter_table(db, "before", table)


def _name(values: list[str]) -> str:
    assert values is ODD
    return "ds=2024-01-01/region=50%25 %2Fa%3Db%3Aü"


def _figures(t: Any) -> list[Any]:
    def of(column: str, **data: Any) -> Any:
        type_ = TYPES[column]
        return t.ColumnStatisticsObj(
            colName=column, colType=type_, statsData=t.ColumnStatisticsData(**data)
        )

    number = t.Decimal(unscaled=b"\x80", scale=2)
    counts = {"numNulls": 1, "numDVs": 2}
    lengths = {"maxColLen": 9, "avgColLen": 1.5}
    return [
        of("id", longStats=t.LongColumnStatsData(lowValue=-1, highValue=2**40, **counts)),
        of("price", decimalStats=t.DecimalColumnStatsData(lowValue=number, **counts)),
        of("day", dateStats=t.DateColumnStatsData(lowValue=t.Date(daysSinceEpoch=9), **counts)),
        of(
            "at",
            timestampStats=t.TimestampColumnStatsData(
                highValue=t.Timestamp(secondsSinceEpoch=99), **counts
            ),
        ),
        of("ratio", doubleStats=t.DoubleColumnStatsData(lowValue=0.25, **counts)),
        of("name", stringStats=t.StringColumnStatsData(**lengths, **counts)),
        of("raw", binaryStats=t.BinaryColumnStatsData(numNulls=1, **lengths)),
        of("ok", booleanStats=t.BooleanColumnStatsData(numTrues=1, numFalses=2, numNulls=3)),
    ]
