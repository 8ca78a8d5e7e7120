"""What the compared metastore holds, beside what `tests.hive.reader.script` leaves in it."""

from typing import Any

from hive.names import partition_name
from tests.support.hive import hms_objects as objects
from tests.support.hive.hms_client import HmsClient

TYPES = {"id": "bigint", "name": "string", "price": "decimal(10,2)", "ratio": "double"}
KEYS = {"n": "int", "s": "string"}
VALUES = [["1", "eu"], ["2", "eu"], ["10", "us"], ["10", "a b"], ["3", "us_east"], ["4", ""]]


def fill(client: HmsClient, db: str) -> None:
    """Tables of all kinds that are shown differently to different clients."""
    client.create_database(db)
    _insert_only(client, db)
    _bucketed(client, db)
    _figures(client, db)
    _written(client, db)
    wanted = objects.table(
        db, "asking", TYPES, transactional=False, parameters={"OBJCAPABILITIES": "EXTWRITE"}
    )
    client.create_table(wanted)
    view = objects.table(db, "mat", TYPES, transactional=False, parameters={})
    view.tableType, view.viewOriginalText = "MATERIALIZED_VIEW", "select 1"
    view.viewExpandedText, view.rewriteEnabled = "select 1", False
    client.create_table(view)
    _grants(client, db)
    client.open_transactions(2)
    client.open_transactions(1, client.t.TxnType.READ_ONLY)


def _grants(client: HmsClient, db: str) -> None:
    """Roles with members of all kinds, and privileges of all kinds but on partitions."""
    t, rpc = client.t, client.rpc
    user, role, group = t.PrincipalType.USER, t.PrincipalType.ROLE, t.PrincipalType.GROUP
    for name in ("readers", "writers"):
        rpc.create_role(t.Role(roleName=name, createTime=0, ownerName="hive"))
    for name, type_, option in (("ann", user, True), ("staff", group, False)):
        rpc.grant_role("readers", name, type_, "hive", user, option)
    rpc.grant_role("writers", "readers", role, "hive", user, False)
    place = {"dbName": db, "catName": "hive"}
    kinds = t.HiveObjectType
    for of in (
        t.HiveObjectRef(objectType=kinds.GLOBAL),
        t.HiveObjectRef(objectType=kinds.DATABASE, **place),
        t.HiveObjectRef(objectType=kinds.TABLE, objectName="asking", **place),
        t.HiveObjectRef(objectType=kinds.COLUMN, objectName="asking", columnName="id", **place),
    ):
        for name, type_, privilege in (
            ("ann", user, "SELECT"),
            ("ann", user, "INSERT"),
            ("readers", role, "SELECT"),
        ):
            info = t.PrivilegeGrantInfo(
                privilege=privilege,
                createTime=1_700_000_000,
                grantor="hive",
                grantorType=user,
                grantOption=privilege == "INSERT",
            )
            granted = t.HiveObjectPrivilege(of, name, type_, info, "SQL")
            rpc.grant_privileges(t.PrivilegeBag(privileges=[granted]))


def _insert_only(client: HmsClient, db: str) -> None:
    wanted = objects.table(
        db, "inserts", TYPES, KEYS, parameters={"transactional_properties": "insert_only"}
    )
    client.add_partitions(client.create_table(wanted), VALUES[:2])


def _bucketed(client: HmsClient, db: str) -> None:
    sd = objects.storage(TYPES, numBuckets=4, bucketCols=["id"])
    wanted = objects.table(db, "bucketed", TYPES, KEYS, sd=sd, transactional=False)
    table = client.create_table(wanted)
    parts = [objects.partition(table, values) for values in VALUES]
    for number, part in enumerate(parts):
        part.sd.numBuckets, part.sd.bucketCols = number - 1, ["id"]
    client.rpc.add_partitions_req(
        client.t.AddPartitionsRequest(
            catName="hive", dbName=db, tblName="bucketed", parts=parts, ifNotExists=False
        )
    )


def _figures(client: HmsClient, db: str) -> None:
    """All partitions have statistics of all columns, some with sketches."""
    t = client.t
    table = client.create_table(objects.table(db, "figures", TYPES, KEYS, transactional=False))
    client.add_partitions(table, VALUES)
    for number, values in enumerate(VALUES):
        name = partition_name(list(KEYS), values)
        data = {
            "id": t.ColumnStatisticsData(
                longStats=t.LongColumnStatsData(
                    numNulls=number, numDVs=number + 3, lowValue=-number, highValue=9 * number
                )
            ),
            "name": t.ColumnStatisticsData(
                stringStats=t.StringColumnStatsData(
                    maxColLen=number, avgColLen=number / 4, numNulls=1, numDVs=7
                )
            ),
            "ratio": t.ColumnStatisticsData(
                doubleStats=t.DoubleColumnStatsData(
                    numNulls=0, numDVs=2, lowValue=-0.5 * number, highValue=1.25 * number
                )
            ),
        }
        client.update_statistics(
            table,
            [
                t.ColumnStatisticsObj(colName=column, colType=TYPES[column], statsData=figures)
                for column, figures in data.items()
            ],
            partition=name,
        )


def _written(client: HmsClient, db: str) -> None:
    """An unpartitioned transactional table with statistics as of the second of three write ids."""
    table = client.create_table(objects.table(db, "written", TYPES))
    for commits in (True, True, False):
        txn = client.open_transaction()
        write_id = client.allocate_write_id(txn, db, "written")
        if commits:
            lists = client.valid_write_ids(db, "written", client.valid_transactions(txn))
            _update(client, table, write_id, lists)
            _tell_accurate(client, db, write_id, lists)
            client.commit(txn)
        else:
            client.abort(txn)


def _tell_accurate(client: HmsClient, db: str, write_id: int, lists: str) -> None:
    altered = client.table(db, "written")
    accurate = '{"BASIC_STATS":"true","COLUMN_STATS":{"id":"true"}}'
    altered.parameters = {**altered.parameters, "COLUMN_STATS_ACCURATE": accurate}
    altered.writeId = write_id
    # Else the metastore takes back what is said of the statistics.
    properties = {"DO_NOT_UPDATE_STATS": "true"}
    client.alter_table(
        db, "written", altered, write_id=write_id, valid_write_ids=lists, properties=properties
    )


def _update(client: HmsClient, table: Any, write_id: int, lists: str) -> None:
    client.update_statistics(
        table,
        [objects.long_statistics("id", numNulls=write_id, lowValue=1, highValue=9)],
        write_id=write_id,
        valid_write_ids=lists,
    )
