"""Calls of every method that the cache answers, over all that a metastore holds."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tests.query_api.thrift.methods.wire import arguments, request
from tests.support.hive.hms_client import CAPABILITIES, HmsClient

SPARK = ("ACCEPTS_UNMODIFIED_METADATA", "EXTREAD", "EXTWRITE")
IMPALA = (
    *("EXTWRITE", "EXTREAD", "HIVEMANAGEDINSERTREAD", "HIVEMANAGEDINSERTWRITE"),
    *("HIVEFULLACIDREAD", "HIVESQL", "HIVEMQT", "HIVEBUCKET2"),
)
READER = ("EXTREAD", "HIVEFULLACIDREAD", "HIVEMANAGEDINSERTREAD")
CAPABILITY_SETS: tuple[Sequence[str] | None, ...] = (
    None,
    CAPABILITIES,
    SPARK,
    IMPALA,
    READER,
    ("CONNECTORREAD",),
    ("CONNECTORWRITE",),
    ("HIVESQL",),
)
INSERT_ONLY = 2


class Call(NamedTuple):
    """One call; `unordered`: the metastore's answer has no order."""

    method: str
    given: bytes

    @property
    def unordered(self) -> bool:
        return self.method in UNORDERED


UNORDERED = frozenset(
    (
        *("get_all_databases", "get_databases", "get_all_tables", "get_tables"),
        *("get_tables_by_type", "get_table_meta", "get_table_objects_by_name_req"),
        *("get_partition_names_ps", "get_partition_names_ps_req"),
        *("get_table_statistics_req", "get_partitions_statistics_req", "get_aggr_stats_for"),
        *("get_primary_keys", "get_foreign_keys", "get_unique_constraints"),
        *("get_not_null_constraints", "get_default_constraints", "get_check_constraints"),
        *("get_all_table_constraints", "get_partitions_with_specs"),
        *("list_privileges", "get_role_names", "get_role_grants_for_principal"),
        *("get_principals_in_role", "get_all_functions"),
        "get_partitions_spec_by_expr",
    )
)


def call(method: str, *given: Any, **named: Any) -> Call:
    return Call(method, arguments(method, *given, **named))


def req(method: str, struct: str, /, **fields: Any) -> Call:
    return call(method, request(struct, **fields))


class Table(NamedTuple):
    """What calls about a table need to know of it."""

    db: str
    name: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    partitions: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    ids: str
    """A list of valid write ids."""
    id: int


def shown(client: HmsClient, db: str, name: str) -> Any:
    """A table as a client that knows of all kinds sees it."""
    able = client.t.ClientCapabilities(values=[INSERT_ONLY])
    asked = client.t.GetTableRequest(dbName=db, tblName=name, capabilities=able)
    return client.rpc.get_table_req(asked).table


def tables_of(client: HmsClient, databases: Sequence[str]) -> list[Table]:
    """What is there, and what isn't."""
    calls = []
    for db in databases:
        for name in client.rpc.get_all_tables(db):
            table = shown(client, db, name)
            names = client.rpc.get_partition_names(db, name, -1)
            calls.append(
                Table(
                    db,
                    name,
                    tuple(key.name for key in table.partitionKeys),
                    tuple(column.name for column in table.sd.cols),
                    tuple(names),
                    tuple(tuple(client.rpc.partition_name_to_vals(one)) for one in names),
                    client.valid_write_ids(db, name),
                    table.id,
                )
            )
    nothing = ("ds=2024-01-01",), (("2024-01-01",),)
    calls.append(Table(databases[0], "no_such", ("ds",), ("id",), *nothing, "", 1))
    calls.append(Table("no_such", "no_such", ("ds",), ("id",), *nothing, "", 1))
    return calls


def corpus(client: HmsClient, databases: Sequence[str]) -> Iterator[Call]:
    """Several hundred calls."""
    return calls_about(databases, tables_of(client, databases))


def calls_about(databases: Sequence[str], tables: Sequence[Table]) -> Iterator[Call]:
    """The calls about these tables."""
    yield from _about_databases([*databases, "default", "no_such"])
    for db in (*databases, "no_such"):
        yield from _about_names(db, [one.name for one in tables if one.db == db])
    for table in tables:
        yield from _about_table(table)
        yield from _about_partitions(table)
        yield from _about_statistics(table)
        yield from _about_constraints(table)
    yield call("get_current_notificationEventId")
    yield from _about_functions([*databases, "no_such"])
    yield from _about_grants(databases, tables)
    yield from _about_transactions(tables)


def _about_databases(databases: Iterable[str]) -> Iterator[Call]:
    yield call("get_all_databases")
    for pattern in ("*", None, "r*", "no*", "reader|default", "@hive#", "@hive#re*", "r.*", "|"):
        yield call("get_databases", pattern)
    for db in databases:
        yield call("get_database", db)
        yield call("get_database", f"@hive#{db}")
        for capabilities in (None, CAPABILITIES):
            yield req(
                "get_database_req",
                "GetDatabaseRequest",
                name=db,
                catalogName="hive",
                processorCapabilities=capabilities,
            )


def _about_names(db: str, names: Sequence[str]) -> Iterator[Call]:
    yield call("get_all_tables", db)
    yield call("get_all_tables", f"@hive#{db}")
    for pattern in ("*", None, ".*", "a*", "*a*|e*", "plain", "B*", "a.*", "", "a c", "|", "|a*|"):
        yield call("get_tables", db, pattern)
        yield call("get_table_meta", db, pattern, [])
        for kind in ("MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW"):
            yield call("get_tables_by_type", db, pattern, kind)
    for databases in ("*", None, "", "@hive#", "@hive#!"):
        yield call("get_table_meta", databases, "a*", None)
    yield call("get_table_meta", f"{db}*", "*", ["EXTERNAL_TABLE", "VIRTUAL_VIEW"])
    for chosen in (names, names[::2], [*names, "no_such", *names], ["no_such"], []):
        for insert_only in (None, request("ClientCapabilities", values=[INSERT_ONLY])):
            yield req(
                "get_table_objects_by_name_req",
                "GetTablesRequest",
                dbName=db,
                tblNames=list(chosen),
                catName="hive",
                capabilities=insert_only,
            )
    for more in (
        {"tablesPattern": ""},
        {"tablesPattern": "a*"},
        {"projectionSpec": request("GetProjectionsSpec")},
    ):
        tables = "get_table_objects_by_name_req", "GetTablesRequest"
        yield req(*tables, dbName=db, tblNames=list(names), catName="hive", **more)


def _about_table(table: Table) -> Iterator[Call]:
    place = {"dbName": table.db, "tblName": table.name}
    able = request("ClientCapabilities", values=[INSERT_ONLY])
    for capabilities in CAPABILITY_SETS:
        yield req(
            "get_table_req",
            "GetTableRequest",
            **place,
            catName="hive",
            capabilities=able,
            processorCapabilities=capabilities,
            processorIdentifier="test",
        )
    everything = f"{table.db}.{table.name}:{2**63 - 1}:{2**63 - 1}::"
    nothing = f"{table.db}.{table.name}:0:{2**63 - 1}::"
    for ids in (table.ids or None, everything, nothing, ""):
        for table_id in (table.id, -1):
            yield req(
                "get_table_req",
                "GetTableRequest",
                **place,
                capabilities=able,
                validWriteIdList=ids,
                id=table_id,
            )
    yield req("get_table_req", "GetTableRequest", **place)
    yield req("get_table_req", "GetTableRequest", **place, catName="no_such", capabilities=able)
    for ids in (None, everything, nothing, ""):
        for engine in ("hive", "impala"):
            yield req(
                "get_table_req",
                "GetTableRequest",
                **place,
                capabilities=able,
                getColumnStats=True,
                engine=engine,
                validWriteIdList=ids,
            )
    for method, struct in (
        ("get_fields", "GetFieldsRequest"),
        ("get_schema", "GetSchemaRequest"),
    ):
        yield call(method, table.db, table.name)
        yield call(method, f"@hive#{table.db}", table.name)
        yield call(f"{method}_with_environment_context", table.db, table.name, None)
        yield req(f"{method}_req", struct, **place, catName="hive")


def _about_partitions(table: Table) -> Iterator[Call]:
    place = {"dbName": table.db, "tblName": table.name, "catName": "hive"}
    old = table.db, table.name
    some = table.partitions[::2]
    yield from _single(table, place)
    for most in (-1, 0, 1, 2, 32767):
        yield call("get_partitions", *old, most)
        yield call("get_partitions_with_auth", *old, most, "hive", ["hive"])
        yield call("get_partition_names", *old, most)
        for without in (None, True):
            fields = {**place, "maxParts": most, "skipColumnSchemaForPartition": without}
            yield req("get_partitions_req", "PartitionsRequest", **fields)
        yield req("fetch_partition_names_req", "PartitionsRequest", **place, maxParts=most)
    ids = {"validWriteIdList": table.ids or None, "id": table.id}
    yield req("get_partitions_req", "PartitionsRequest", **place, **ids)
    unpatterned = {"includeParamKeyPattern": "", "excludeParamKeyPattern": ""}
    yield req("get_partitions_req", "PartitionsRequest", **place, **unpatterned)
    for part_names in (list(some), []):
        chosen = "get_partitions_ps_with_auth_req", "GetPartitionsPsWithAuthRequest"
        yield req(*chosen, **place, partNames=part_names)
    yield from _by_values(table, place)
    for names in (some, [*reversed(table.partitions), "no_such", "no=such", *some], [], ["/"]):
        yield call("get_partitions_by_names", *old, list(names))
    for capabilities in CAPABILITY_SETS:
        yield req(
            "get_partitions_by_names_req",
            "GetPartitionsByNamesRequest",
            db_name=f"@hive#{table.db}",
            tbl_name=table.name,
            names=list(some),
            processorCapabilities=capabilities,
        )
    trimmed = {"names": list(some), "skipColumnSchemaForPartition": True}
    by_names = "get_partitions_by_names_req", "GetPartitionsByNamesRequest"
    yield req(*by_names, db_name=table.db, tbl_name=table.name, **trimmed)
    with_figures = {"names": list(table.partitions), "get_col_stats": True}
    for engine in ("hive", "impala"):
        request = {**with_figures, "engine": engine}
        yield req(*by_names, db_name=table.db, tbl_name=table.name, **request)
    yield from _by_filter(table, place)
    yield req("get_partitions_with_specs", "GetPartitionsRequest", **place)


def _single(table: Table, place: dict[str, str]) -> Iterator[Call]:
    old = table.db, table.name
    ids = {"validWriteIdList": table.ids or None, "id": table.id}
    wrong = [("no_such",) * len(table.keys), ("a", "b", "c", "d"), ()]
    for values in (*table.values, *wrong):
        yield call("get_partition", *old, list(values))
        yield call("get_partition", f"@hive#{table.db}", table.name, list(values))
        yield call("get_partition_with_auth", *old, list(values), "hive", [])
        request = {**place, "partVals": list(values)}
        yield req("get_partition_req", "GetPartitionRequest", **request)
        yield req("get_partition_req", "GetPartitionRequest", **request, **ids)
    bare = [form.format(name) for name in table.partitions[:1] for form in ("{}=x", "{}:x", "x:{}")]
    for name in (*table.partitions, *bare, "no=such", "no_such", "a=b/c=d"):
        yield call("get_partition_by_name", *old, name)
        yield call("get_partition_by_name", *old, "/".join(reversed(name.split("/"))))


def _by_values(table: Table, place: dict[str, str]) -> Iterator[Call]:
    old = table.db, table.name
    firsts = {values[:1] for values in table.values}
    lasts = {("",) * (len(values) - 1) + values[-1:] for values in table.values}
    whole = [one + ("",) * (len(table.keys) - len(one)) for one in sorted(firsts)]
    wrong = [("no_such",) * len(table.keys), ("",) * 5, (), ("",)]
    for values in (*whole, *sorted(firsts), *sorted(lasts), *table.values, *wrong):
        for most in (-1, 1):
            yield call("get_partitions_ps", *old, list(values), most)
        # Which of several names the metastore leaves out is anybody's guess.
        yield call("get_partition_names_ps", *old, list(values), -1)
        yield call("get_partitions_ps_with_auth", *old, list(values), -1, "hive", ["hive"])
        named = {**place, "partValues": list(values)}
        yield req("get_partition_names_ps_req", "GetPartitionNamesPsRequest", **named)
        request = {**place, "partVals": list(values)}
        method = "get_partitions_ps_with_auth_req"
        for without in (None, True):
            trimmed = {"skipColumnSchemaForPartition": without}
            yield req(method, "GetPartitionsPsWithAuthRequest", **request, **trimmed)


def _by_filter(table: Table, place: dict[str, str]) -> Iterator[Call]:
    old = table.db, table.name
    filters = ["", "no_such = 1", "(", *_filters(table)]
    for text in filters:
        yield call("get_num_partitions_by_filter", *old, text)
        for most in (-1, 1):
            yield call("get_partitions_by_filter", *old, text, most)
        method = "get_partitions_by_filter_req"
        yield req(method, "GetPartitionsByFilterRequest", **place, filter=text)
        fields = {
            **place,
            "expr": text.encode(),
            "defaultPartitionName": "__HIVE_DEFAULT_PARTITION__",
        }
        yield req("get_partitions_by_expr", "PartitionsByExprRequest", **fields)
        yield req("get_partitions_spec_by_expr", "PartitionsByExprRequest", **fields)
        yield req("get_partition_names_req", "PartitionsByExprRequest", **fields)
    for text in filters[:1] + filters[3:5]:
        short = {**place, "skipColumnSchemaForPartition": True, "maxParts": 2}
        by_filter = "get_partitions_by_filter_req", "GetPartitionsByFilterRequest"
        yield req(*by_filter, **short, filter=text)
        by_expression = "get_partitions_by_expr", "PartitionsByExprRequest"
        yield req(*by_expression, **short, expr=text.encode())
        specs = "get_partitions_spec_by_expr", by_expression[1]
        yield req(*specs, **short, expr=text.encode())
        yield req("get_partition_names_req", by_expression[1], **short, expr=text.encode())
    yield req("get_partition_names_req", "PartitionsByExprRequest", **place, expr=b"\xff")
    yield req(
        "get_partitions_by_expr", "PartitionsByExprRequest", **place, expr=b"\x01\0org.apache"
    )


def _filters(table: Table) -> Iterator[str]:
    if not table.keys:
        return
    for values in table.values[:4]:
        quoted = [value.replace("'", "''") for value in values]
        yield f"{table.keys[0]} = '{quoted[0]}'"
        yield f"{table.keys[-1]} = '{quoted[-1]}'"
        yield f"{table.keys[0]} >= '{quoted[0]}' and {table.keys[-1]} != '{quoted[-1]}'"
    yield f"{table.keys[-1]} like '%s' or {table.keys[-1]} in ('eu')"
    yield f"({table.keys[-1]}) in ('eu', 'us')"


def _about_statistics(table: Table) -> Iterator[Call]:
    place = {"dbName": table.db, "tblName": table.name, "catName": "hive"}
    old = table.db, table.name
    everything = f"{table.db}.{table.name}:{2**63 - 1}:{2**63 - 1}::"
    nothing = f"{table.db}.{table.name}:0:{2**63 - 1}::"
    for ids in (None, table.ids or None, everything, nothing, ""):
        fields = {**place, "colNames": list(table.columns), "validWriteIdList": ids}
        yield from _statistics(fields, table, (table.partitions, table.partitions[:1]))
    upper = [name.upper() for name in table.columns[:2]]
    for columns in (upper, ["no_such"], []):
        yield from _statistics({**place, "colNames": columns}, table, (table.partitions,))
    fields = {**place, "colNames": list(table.columns)}
    yield from _statistics(fields, table, (["no=such"], []))
    for column in (*table.columns[:3], "no_such"):
        yield call("get_table_column_statistics", *old, column)
        for name in table.partitions[:2]:
            yield call("get_partition_column_statistics", *old, name, column)


def _statistics(
    fields: dict[str, Any], table: Table, names: Iterable[Sequence[str]]
) -> Iterator[Call]:
    yield req("get_table_statistics_req", "TableStatsRequest", **fields, id=table.id)
    for some in names:
        given = {**fields, "partNames": list(some)}
        yield req("get_partitions_statistics_req", "PartitionsStatsRequest", **given)
        yield req("get_aggr_stats_for", "PartitionsStatsRequest", **given)


def _about_constraints(table: Table) -> Iterator[Call]:
    named = {"db_name": table.db, "tbl_name": table.name, "catName": "hive"}
    for method, struct in (
        ("get_primary_keys", "PrimaryKeysRequest"),
        ("get_unique_constraints", "UniqueConstraintsRequest"),
        ("get_not_null_constraints", "NotNullConstraintsRequest"),
        ("get_default_constraints", "DefaultConstraintsRequest"),
        ("get_check_constraints", "CheckConstraintsRequest"),
    ):
        yield req(method, struct, **named)
    child = {"foreign_db_name": table.db, "foreign_tbl_name": table.name}
    parent = {"parent_db_name": "reader", "parent_tbl_name": "acid"}
    for fields in (child, {**child, **parent}, parent):
        yield req("get_foreign_keys", "ForeignKeysRequest", catName="hive", **fields)
    place = {"dbName": table.db, "tblName": table.name, "catName": "hive"}
    yield req("get_all_table_constraints", "AllTableConstraintsRequest", **place)


def _about_functions(databases: Iterable[str]) -> Iterator[Call]:
    yield call("get_all_functions")
    for db in databases:
        for pattern in ("*", None, ".*", "f*", "fun|x", "F*", "no", "f.n", "||"):
            yield call("get_functions", db, pattern)
            yield call("get_functions", f"@hive#{db}", pattern)
        for name in ("fun", "fun2", "Fun", "no_such", ""):
            yield call("get_function", db, name)
            yield call("get_function", f"@hive#{db}", name)


def _about_grants(databases: Sequence[str], tables: Sequence[Table]) -> Iterator[Call]:
    yield call("get_role_names")
    for role in ("public", "admin", "readers", "Readers", "no_such"):
        yield req("get_principals_in_role", "GetPrincipalsInRoleRequest", roleName=role)
    holders = [(None, None), (None, 1), ("ann", None)]
    for name in ("ann", "readers", "no_such", "hive"):
        for type_ in (1, 2, 3):
            holders.append((name, type_))
            yield req(
                "get_role_grants_for_principal",
                "GetRoleGrantsForPrincipalRequest",
                principal_name=name,
                principal_type=type_,
            )
    for holder in holders:
        for place in _places(databases, tables):
            yield call("list_privileges", *holder, request("HiveObjectRef", **place))


def _places(databases: Sequence[str], tables: Sequence[Table]) -> Iterator[dict[str, Any]]:
    """Objects that privileges may be granted on."""
    yield {}
    yield {"catName": "hive"}
    for kind in range(1, 7):
        yield {"objectType": kind}
    for db in (*databases, "no_such"):
        yield {"objectType": 2, "dbName": db}
        yield {"objectType": 2, "dbName": db, "catName": "no_such"}
    granted = [table for table in tables if table.name == "asking"]
    for table in (*tables[:2], *granted, tables[-1]):
        of = {"dbName": table.db, "objectName": table.name}
        yield {"objectType": 3, **of}
        yield {"objectType": 3, **of, "catName": "hive", "partValues": []}
        yield {"objectType": 3, **of, "objectName": table.name.upper()}
        for column in table.columns[:2]:
            yield {"objectType": 5, **of, "columnName": column}
        for values in table.values[:1]:
            yield {"objectType": 4, **of, "partValues": list(values)}
            yield {"objectType": 5, **of, "partValues": list(values), "columnName": "id"}


def _about_transactions(tables: Sequence[Table]) -> Iterator[Call]:
    yield call("get_open_txns")
    yield call("get_open_txns_info")
    for types in ([], [0], [2], [0, 2, 3], None):
        yield req("get_open_txns_req", "GetOpenTxnsRequest", excludeTxnTypes=types)
    names = [f"{table.db}.{table.name}" for table in tables]
    readers = [None, "", f"0:{2**63 - 1}::", f"3:{2**63 - 1}::", "7:2:2,5:3", "9:4:4:5,6,7"]
    for reader in readers:
        fields: dict[str, Any]
        for chosen in (names, names[:1], [*names[:2], names[0]], [], ["reader.ACID"], ["acid"]):
            fields = {"fullTableNames": chosen, "validTxnList": reader}
            yield req("get_valid_write_ids", "GetValidWriteIdsRequest", **fields)
    for name in names[:3]:
        for write_id in (1, 99):
            fields = {"fullTableNames": [name], "writeId": write_id}
            yield req("get_valid_write_ids", "GetValidWriteIdsRequest", **fields)


def sample(calls: Iterable[Call], of_each: int) -> list[Call]:
    """So many calls of each method, from all over."""
    by_method: dict[str, list[Call]] = {}
    for call in calls:
        by_method.setdefault(call.method, []).append(call)
    return [
        some[place * len(some) // min(of_each, len(some))]
        for some in by_method.values()
        for place in range(min(of_each, len(some)))
    ]
