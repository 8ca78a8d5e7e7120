"""Random questions by every method that the cache answers."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from hive.thrift.binary import encode
from tests.differential.direct_questions import DirectQuestions
from tests.differential.names import TABLES, Names
from tests.differential.question_parts import NOBODY, Fields, KnownTable
from tests.differential.steps import Question
from tests.query_api.thrift.methods import corpus
from tests.query_api.thrift.methods.dropped_methods import ONE, SEVERAL
from tests.query_api.thrift.methods.wire import request


class Questions(DirectQuestions):
    """Makes questions about one known table, and names of others."""

    def __init__(self, random: Random, names: Names) -> None:
        super().__init__(random, names)
        self._makers: dict[str, Callable[[], corpus.Call]] = {
            **self._of_databases(),
            **self._of_tables(),
            **self._of_partitions(),
            **self._of_many(),
            **self._of_filters(),
            **self._of_statistics(),
            **self._of_constraints(),
            **self._of_functions(),
            **self._of_grants(),
            **self._of_transactions(),
        }

    @property
    def methods(self) -> Sequence[str]:
        return list(self._makers)

    def ask(self, method: str, of: KnownTable | None) -> Question:
        """A question by this method, about this table or one that may not exist."""
        self._of = of or self._nothing()
        made = self._makers[method]()
        by_ids = self._by_ids
        self._by_ids = None
        return Question(method, made.given, by_ids)

    # Methods, each with a maker of one call.

    def _of_databases(self) -> dict[str, Callable[[], corpus.Call]]:
        return {
            "get_all_databases": lambda: corpus.call("get_all_databases"),
            "get_databases": lambda: corpus.call("get_databases", self._pattern()),
            "get_database": lambda: corpus.call("get_database", self._db()),
            "get_database_req": lambda: corpus.req(
                "get_database_req",
                "GetDatabaseRequest",
                name=self._of.db,
                catalogName=self._maybe("hive"),
                **self._capable(),
            ),
            "get_current_notificationEventId": lambda: corpus.call(
                "get_current_notificationEventId"
            ),
        }

    def _of_tables(self) -> dict[str, Callable[[], corpus.Call]]:
        return {
            "get_all_tables": lambda: corpus.call("get_all_tables", self._db()),
            "get_tables": lambda: corpus.call("get_tables", self._db(), self._pattern()),
            "get_tables_by_type": lambda: corpus.call(
                "get_tables_by_type",
                self._db(),
                self._pattern(),
                self._random.choice(("MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW")),
            ),
            "get_table_meta": lambda: corpus.call(
                "get_table_meta",
                self._random.choice((self._of.db, f"{self._names.prefix}*")),
                self._pattern(),
                self._types(),
            ),
            "get_table": lambda: corpus.Call("get_table", self._two(self._db(), self._of.name)),
            "get_table_objects_by_name": lambda: corpus.Call(
                "get_table_objects_by_name", self._several(self._db(), self._tables())
            ),
            "get_table_req": self._get_table,
            "get_table_objects_by_name_req": lambda: corpus.req(
                "get_table_objects_by_name_req",
                "GetTablesRequest",
                dbName=self._of.db,
                tblNames=self._tables(),
                catName=self._maybe("hive"),
                capabilities=self._maybe(_insert_only()),
                **self._capable(),
            ),
            **{name: self._columns_by(name) for name in ("get_fields", "get_schema")},
            **{
                f"{name}_with_environment_context": self._columns_by(
                    f"{name}_with_environment_context", None
                )
                for name in ("get_fields", "get_schema")
            },
            "get_fields_req": lambda: corpus.req(
                "get_fields_req", "GetFieldsRequest", **self._place()
            ),
            "get_schema_req": lambda: corpus.req(
                "get_schema_req", "GetSchemaRequest", **self._place()
            ),
        }

    def _columns_by(self, method: str, *more: Any) -> Callable[[], corpus.Call]:
        return lambda: corpus.call(method, self._db(), self._of.name, *more)

    def _two(self, db: str, table: str) -> bytes:
        return encode(ONE, {"db_name": db, "tbl_name": table})

    def _several(self, db: str, tables: list[str]) -> bytes:
        return encode(SEVERAL, {"db_name": db, "names": tables})

    def _tables(self) -> list[str]:
        full = [self._names.full(one) for one in (*TABLES, NOBODY)]
        return self._random.sample(full, self._random.randrange(len(full)))

    def _get_table(self) -> corpus.Call:
        random = self._random
        fields = self._place() | self._capable() | self._lists()
        if random.random() < 0.8:
            fields["capabilities"] = _insert_only()
        if random.random() < 0.2:
            fields |= {"getColumnStats": True, "engine": random.choice(("hive", "impala"))}
        return corpus.req("get_table_req", "GetTableRequest", **fields)

    def _of_partitions(self) -> dict[str, Callable[[], corpus.Call]]:
        return {
            "get_partition": lambda: corpus.call("get_partition", *self._old(), self._values()),
            "get_partition_with_auth": lambda: corpus.call(
                "get_partition_with_auth", *self._old(), self._values(), "hive", []
            ),
            "get_partition_by_name": lambda: corpus.call(
                "get_partition_by_name", *self._old(), self._name()
            ),
            "get_partition_req": lambda: corpus.req(
                "get_partition_req",
                "GetPartitionRequest",
                partVals=self._values(),
                **self._place(),
                **self._lists(),
            ),
            "get_partitions": lambda: corpus.call("get_partitions", *self._old(), self._most()),
            "get_partitions_with_auth": lambda: corpus.call(
                "get_partitions_with_auth", *self._old(), self._most(), "hive", ["hive"]
            ),
            "get_partition_names": lambda: corpus.call(
                "get_partition_names", *self._old(), self._most()
            ),
            "get_partitions_req": lambda: corpus.req(
                "get_partitions_req",
                "PartitionsRequest",
                maxParts=self._most(),
                skipColumnSchemaForPartition=self._maybe(True),
                **self._place(),
                **self._lists(),
            ),
            "fetch_partition_names_req": lambda: corpus.req(
                "fetch_partition_names_req",
                "PartitionsRequest",
                maxParts=self._most(),
                **self._place(),
                **self._lists(),
            ),
        }

    def _old(self) -> tuple[str, str]:
        return self._db(), self._of.name

    def _of_many(self) -> dict[str, Callable[[], corpus.Call]]:
        return {
            "get_partitions_ps": lambda: corpus.call(
                "get_partitions_ps", *self._old(), self._some_values(), self._most()
            ),
            "get_partition_names_ps": lambda: corpus.call(
                "get_partition_names_ps", *self._old(), self._some_values(), -1
            ),
            "get_partitions_ps_with_auth": lambda: corpus.call(
                *("get_partitions_ps_with_auth", *self._old(), self._some_values(), self._most()),
                *("hive", ["hive"]),
            ),
            "get_partition_names_ps_req": lambda: corpus.req(
                "get_partition_names_ps_req",
                "GetPartitionNamesPsRequest",
                partValues=self._some_values(),
                **self._place(),
                **self._lists(),
            ),
            "get_partitions_ps_with_auth_req": lambda: corpus.req(
                "get_partitions_ps_with_auth_req",
                "GetPartitionsPsWithAuthRequest",
                partVals=self._some_values(),
                skipColumnSchemaForPartition=self._maybe(True),
                **self._place(),
                **self._lists(),
            ),
            "get_partitions_by_names": lambda: corpus.call(
                "get_partitions_by_names", *self._old(), self._some_names()
            ),
            "get_partitions_by_names_req": self._by_names,
            "get_partitions_with_specs": lambda: corpus.req(
                "get_partitions_with_specs", "GetPartitionsRequest", **self._place()
            ),
        }

    def _by_names(self) -> corpus.Call:
        random = self._random
        fields: Fields = {
            "db_name": self._of.db,
            "tbl_name": self._of.name,
            "names": self._some_names(),
            **self._capable(),
            **self._lists(),
        }
        if random.random() < 0.3:
            fields |= {"get_col_stats": True, "engine": random.choice(("hive", "impala"))}
        elif random.random() < 0.3:
            fields["skipColumnSchemaForPartition"] = True
        return corpus.req("get_partitions_by_names_req", "GetPartitionsByNamesRequest", **fields)

    def _of_filters(self) -> dict[str, Callable[[], corpus.Call]]:
        by_expression = (
            *("get_partitions_by_expr", "get_partitions_spec_by_expr"),
            "get_partition_names_req",
        )
        return {
            "get_num_partitions_by_filter": lambda: corpus.call(
                "get_num_partitions_by_filter", *self._old(), self._filter()
            ),
            "get_partitions_by_filter": lambda: corpus.call(
                "get_partitions_by_filter", *self._old(), self._filter(), self._most()
            ),
            "get_partitions_by_filter_req": lambda: corpus.req(
                "get_partitions_by_filter_req",
                "GetPartitionsByFilterRequest",
                filter=self._filter(),
                maxParts=self._most(),
                **self._place(),
            ),
            **{method: self._by_expression(method) for method in by_expression},
        }

    def _by_expression(self, method: str) -> Callable[[], corpus.Call]:
        return lambda: corpus.req(
            method,
            "PartitionsByExprRequest",
            expr=self._filter().encode(),
            maxParts=self._most(),
            defaultPartitionName="__HIVE_DEFAULT_PARTITION__",
            **self._place(),
            **self._lists(),
        )

    def _of_statistics(self) -> dict[str, Callable[[], corpus.Call]]:
        return {
            "get_table_statistics_req": lambda: corpus.req(
                "get_table_statistics_req", "TableStatsRequest", **self._figures(), **self._lists()
            ),
            "get_partitions_statistics_req": self._figures_of("get_partitions_statistics_req"),
            "get_aggr_stats_for": self._figures_of("get_aggr_stats_for"),
            "get_table_column_statistics": lambda: corpus.call(
                "get_table_column_statistics", *self._old(), self._column()
            ),
            "get_partition_column_statistics": lambda: corpus.call(
                "get_partition_column_statistics", *self._old(), self._name(), self._column()
            ),
        }

    def _figures(self) -> Fields:
        engine = self._random.choice(("hive", "hive", "hive", "impala"))
        return {**self._place(), "colNames": self._columns(), "engine": engine}

    def _figures_of(self, method: str) -> Callable[[], corpus.Call]:
        def made() -> corpus.Call:
            fields = self._figures() | self._lists()
            # These requests have no table id, so the cache answers them by `latest`.
            fields.pop("id", None)
            self._by_ids = None
            names = self._some_names()
            return corpus.req(method, "PartitionsStatsRequest", partNames=names, **fields)

        return made

    def _column(self) -> str:
        columns = list(self._of.columns) or ["id"]
        return self._random.choice((*columns, "id", "no_such"))

    def _columns(self) -> list[str]:
        columns = list(self._of.columns) or ["id"]
        return self._random.choice((columns, ["id"], [self._column()]))

    def _of_constraints(self) -> dict[str, Callable[[], corpus.Call]]:
        kinds = {
            "get_primary_keys": "PrimaryKeysRequest",
            "get_unique_constraints": "UniqueConstraintsRequest",
            "get_not_null_constraints": "NotNullConstraintsRequest",
            "get_default_constraints": "DefaultConstraintsRequest",
            "get_check_constraints": "CheckConstraintsRequest",
        }
        return {
            **{method: self._constraints(method, struct) for method, struct in kinds.items()},
            "get_foreign_keys": self._foreign_keys,
            "get_all_table_constraints": lambda: corpus.req(
                "get_all_table_constraints",
                "AllTableConstraintsRequest",
                dbName=self._of.db,
                tblName=self._of.name,
                catName="hive",
            ),
        }

    def _constraints(self, method: str, struct: str) -> Callable[[], corpus.Call]:
        return lambda: corpus.req(
            method, struct, db_name=self._of.db, tbl_name=self._of.name, catName="hive"
        )

    def _foreign_keys(self) -> corpus.Call:
        child = {"foreign_db_name": self._of.db, "foreign_tbl_name": self._of.name}
        other = self._nothing()
        parent = {"parent_db_name": other.db, "parent_tbl_name": other.name}
        fields = self._random.choice((child, child, {**child, **parent}, parent))
        return corpus.req("get_foreign_keys", "ForeignKeysRequest", catName="hive", **fields)


def _insert_only() -> Any:
    return request("ClientCapabilities", values=[corpus.INSERT_ONLY])
