"""Writes databases and functions."""

from collections.abc import Mapping
from typing import Any

from tests.differential.writers.base import Base
from tests.differential.writers.struct_changes import Change, change
from tests.support.hive import hms_objects as objects


class Databases(Base):
    """DDL of databases and functions."""

    def create_database(self, db: str, parameters: Mapping[str, str]) -> None:
        self.rpc.create_database(objects.database(self.names.full(db), parameters=dict(parameters)))

    def create_database_req(self, db: str, parameters: Mapping[str, str]) -> None:
        request = self.t.CreateDatabaseRequest(
            databaseName=self.names.full(db),
            parameters=dict(parameters),
            ownerName="hive",
            ownerType=self.t.PrincipalType.USER,
            catalogName="hive",
            type=self.t.DatabaseType.NATIVE,
        )
        self.rpc.create_database_req(request)

    def alter_database(self, db: str, by: Change) -> None:
        name = self.names.full(db)
        self.rpc.alter_database(name, change(self.rpc.get_database(name), by))

    def alter_database_req(self, db: str, by: Change) -> None:
        name = self.names.full(db)
        database = change(self.rpc.get_database(name), by)
        self.rpc.alter_database_req(self.t.AlterDatabaseRequest(oldDbName=name, newDb=database))

    def drop_database(self, db: str, cascade: bool) -> None:
        self.rpc.drop_database(self.names.full(db), True, cascade)

    def drop_database_req(self, db: str, cascade: bool) -> None:
        request = self.t.DropDatabaseRequest(
            name=self.names.full(db),
            catalogName="hive",
            ignoreUnknownDb=False,
            deleteData=True,
            cascade=cascade,
        )
        self.rpc.drop_database_req(request)

    def create_function(self, db: str, function: str, class_name: str) -> None:
        self.rpc.create_function(self._function(db, function, class_name))

    def alter_function(self, db: str, function: str, class_name: str) -> None:
        place = self.place(db, function)
        self.rpc.alter_function(*place, self._function(db, function, class_name))

    def drop_function(self, db: str, function: str) -> None:
        self.rpc.drop_function(*self.place(db, function))

    def _function(self, db: str, function: str, class_name: str) -> Any:
        return objects.function(*self.place(db, function), class_name)
