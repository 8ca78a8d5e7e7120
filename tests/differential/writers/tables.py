"""Writes tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.differential.writers.base import Base
from tests.differential.writers.constraints import Named, columns_of, of_kind
from tests.differential.writers.struct_changes import Change, change
from tests.support.hive import hms_objects as objects

KINDS: Mapping[str, Mapping[str, Any]] = {
    "managed": {"transactional": True},
    "insert_only": {
        "transactional": True,
        "parameters": {"transactional_properties": "insert_only"},
    },
    "external": {"transactional": False},
    "plain": {"transactional": False, "tableType": "MANAGED_TABLE"},
    "typeless": {"transactional": False, "tableType": None},
    "ownerless": {"transactional": False, "owner": None},
    "view": {
        "transactional": False,
        "tableType": "VIRTUAL_VIEW",
        "viewOriginalText": "select 1",
        "viewExpandedText": "select 1",
    },
    "materialized": {
        "transactional": False,
        "tableType": "MATERIALIZED_VIEW",
        "viewOriginalText": "select 1",
        "viewExpandedText": "select 1",
        "rewriteEnabled": False,
    },
}
_CASCADE = {"CASCADE": "true"}


class Tables(Base):
    """Actions on tables; most have the name of the interface's method."""

    def create_table(self, **given: Any) -> None:
        self.rpc.create_table(self._new_table(**given))

    def create_table_with_environment_context(self, **given: Any) -> None:
        self.rpc.create_table_with_environment_context(self._new_table(**given), self.context())

    def create_table_with_constraints(self, named: Sequence[Named], **given: Any) -> None:
        made = self._new_table(**given)
        place = made.dbName, made.tableName
        lists = [columns_of(self.names, place, kind, named) for kind in of_kind]
        self.rpc.create_table_with_constraints(made, *lists)

    def create_table_req(self, named: Sequence[Named] = (), **fields: Any) -> None:
        made = self._new_table(**fields)
        place = made.dbName, made.tableName
        lists = {
            one.field: columns_of(self.names, place, kind, named) or None
            for kind, one in of_kind.items()
        }
        self.rpc.create_table_req(self.t.CreateTableRequest(table=made, **lists, **self.able()))

    def drop_table(self, db: str, table: str) -> None:
        self.rpc.drop_table(*self.place(db, table), True)

    def drop_table_with_environment_context(self, db: str, table: str) -> None:
        context = self.context(ifPurge="TRUE")
        self.rpc.drop_table_with_environment_context(*self.place(db, table), True, context)

    def drop_table_req(self, db: str, table: str) -> None:
        full_db, full = self.place(db, table)
        self.rpc.drop_table_req(
            self.t.DropTableRequest(
                catalogName="hive", dbName=full_db, tableName=full, deleteData=True
            )
        )

    def alter_table(self, db: str, table: str, by: Change, *, stale: bool = False) -> None:
        self.rpc.alter_table(*self.place(db, table), self._altered_table(db, table, by, stale))

    def alter_table_with_cascade(self, db: str, table: str, by: Change) -> None:
        altered = self._altered_table(db, table, by)
        self.rpc.alter_table_with_cascade(*self.place(db, table), altered, True)

    def alter_table_with_environment_context(
        self, db: str, table: str, by: Change, properties: Mapping[str, str], *, stale: bool = False
    ) -> None:
        altered = self._altered_table(db, table, by, stale)
        context = self.context(**properties)
        place = self.place(db, table)
        self.rpc.alter_table_with_environment_context(*place, altered, context)

    def alter_table_req(
        self,
        db: str,
        table: str,
        by: Change,
        properties: Mapping[str, str] | None = None,
        *,
        stale: bool = False,
    ) -> None:
        full_db, full = self.place(db, table)
        self.rpc.alter_table_req(
            self.t.AlterTableRequest(
                catName="hive",
                dbName=full_db,
                tableName=full,
                table=self._altered_table(db, table, by, stale),
                environmentContext=None if properties is None else self.context(**properties),
                **self.able(),
            )
        )

    def rename_table(self, db: str, table: str, to_db: str, to: str) -> None:
        new_db, new = self.place(to_db, to)
        renamed = change(self.table(db, table), {"dbName": new_db, "tableName": new})
        full_db, full = self.place(db, table)
        self.rpc.alter_table_req(
            self.t.AlterTableRequest(
                catName="hive", dbName=full_db, tableName=full, table=renamed, **self.able()
            )
        )

    def rename_table_with_environment_context(
        self, db: str, table: str, to_db: str, to: str
    ) -> None:
        new_db, new = self.place(to_db, to)
        renamed = change(self.table(db, table), {"dbName": new_db, "tableName": new})
        place = self.place(db, table)
        self.rpc.alter_table_with_environment_context(*place, renamed, self.context())

    def truncate_table(self, db: str, table: str, partitions: Sequence[str] | None) -> None:
        names = None if partitions is None else list(partitions)
        self.rpc.truncate_table(*self.place(db, table), names)

    def truncate_table_req(self, db: str, table: str, partitions: Sequence[str] | None) -> None:
        full_db, full = self.place(db, table)
        names = None if partitions is None else list(partitions)
        self.rpc.truncate_table_req(
            self.t.TruncateTableRequest(dbName=full_db, tableName=full, partNames=names)
        )

    def fire_insert(self, db: str, table: str, values: Sequence[str] | None) -> None:
        """Fires an INSERT event, as Hive does for tables without transactions."""
        inserted = self.t.InsertEventRequestData(filesAdded=[], replace=False)
        self._fire(db, table, values, self.t.FireEventRequestData(insertData=inserted))

    def refresh(self, db: str, table: str, values: Sequence[str] | None) -> None:
        """Fires a RELOAD event, as Impala does."""
        self._fire(db, table, values, self.t.FireEventRequestData(refreshEvent=True))

    def update_creation_metadata(self, db: str, table: str) -> None:
        full_db, full = self.place(db, table)
        made = self.t.CreationMetadata(
            catName="hive", dbName=full_db, tblName=full, tablesUsed=set(), validTxnList="5:5::"
        )
        self.rpc.update_creation_metadata("hive", full_db, full, made)

    def _fire(self, db: str, table: str, values: Sequence[str] | None, data: Any) -> None:
        full_db, full = self.place(db, table)
        request = self.t.FireEventRequest(
            successful=True,
            data=data,
            dbName=full_db,
            tableName=full,
            partitionVals=None if values is None else list(values),
            catName="hive",
        )
        self.rpc.fire_listener_event(request)

    def _new_table(
        self,
        db: str,
        table: str,
        kind: str,
        types: Mapping[str, str],
        keys: Mapping[str, str],
        parameters: Mapping[str, str] | None = None,
        storage: Mapping[str, Any] | None = None,
        serde: Mapping[str, Any] | None = None,
    ) -> Any:
        fields = dict(KINDS[kind])
        more = {**fields.pop("parameters", {}), **(parameters or {})}
        made = objects.table(*self.place(db, table), types, keys, parameters=more, **fields)
        if kind in ("plain", "typeless", "view", "materialized"):
            made.parameters.pop("EXTERNAL", None)
        return change(made, {"storage": storage or {}, "serde": serde or {}})

    def _altered_table(self, db: str, table: str, by: Change, stale: bool = False) -> Any:
        return change(self.table(db, table, stale=stale), by)
