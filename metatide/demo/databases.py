"""DDL of databases and functions."""

from itertools import chain

from metatide.demo import notifications
from metatide.demo.actor import Actor
from metatide.demo.changes import Change, Delete, Insert
from metatide.demo.objects import Database, Table
from metatide.demo.rows import delete_database, insert_database, replace_parameters
from metatide.demo.structs import CATALOG, OWNER, USER, Struct, database_struct
from metatide.demo.tables import dropping

FUNCTIONS_MAX = 20
"""The maximum number of functions of a database."""

JAVA = 1
"""FunctionType.JAVA; also ResourceType.JAR."""


def create(actor: Actor, name: str) -> Database:
    """CREATE DATABASE."""
    database = actor.make.database(name)
    actor.write(insert_database(database), notifications.create_database(database))
    return database


def alter(actor: Actor, database: Database) -> None:
    """ALTER DATABASE SET DBPROPERTIES."""
    before = database_struct(database)
    parameters = database.parameters | {"k": str(actor.rng.randrange(1000))}
    changes = replace_parameters(
        "DATABASE_PARAMS", "DB_ID", database.id, database.parameters, parameters
    )
    database.parameters = parameters
    actor.write(changes, notifications.alter_database(before, database))


def drop_cascade(actor: Actor, database: Database, tables: list[Table]) -> None:
    """DROP DATABASE CASCADE: the events of its functions, its tables and the database, in one
    transaction.
    """
    functions = [notifications.drop_function(database, name) for name in database.functions]
    drops = [dropping(actor, table) for table in tables]
    changes = [
        *(change for name in list(database.functions) for change in _delete(database, name)),
        *chain.from_iterable(change for change, _ in drops),
        *delete_database(database),
    ]
    events = [*functions, *(event for _, event in drops), notifications.drop_database(database)]
    actor.write(changes, *events)


def create_function(actor: Actor, database: Database) -> None:
    """CREATE FUNCTION with an unused name."""
    free = [n for n in range(FUNCTIONS_MAX) if f"f{n}" not in database.functions]
    if not free:
        return
    name = f"f{actor.rng.choice(free)}"
    id_ = database.functions[name] = actor.ids.take("FUNCS")
    class_name = f"com.example.Udf{actor.rng.randrange(10)}"
    uri = f"file:/warehouse/jars/{name}.jar"
    function: Struct = {
        "functionName": name,
        "dbName": database.name,
        "className": class_name,
        "ownerName": OWNER,
        "ownerType": USER,
        "createTime": actor.now(),
        "functionType": JAVA,
        "resourceUris": [{"resourceType": JAVA, "uri": uri}],
        "catName": CATALOG,
    }
    row = {
        "FUNC_ID": id_,
        "CLASS_NAME": class_name,
        "CREATE_TIME": function["createTime"],
        "DB_ID": database.id,
        "FUNC_NAME": name,
        "FUNC_TYPE": JAVA,
        "OWNER_NAME": OWNER,
        "OWNER_TYPE": "USER",
    }
    resource = {"FUNC_ID": id_, "INTEGER_IDX": 0, "RESOURCE_TYPE": JAVA, "RESOURCE_URI": uri}
    changes: list[Change] = [Insert("FUNCS", [row]), Insert("FUNC_RU", [resource])]
    actor.write(changes, notifications.create_function(function, database))


def drop_function(actor: Actor, database: Database) -> None:
    """DROP FUNCTION."""
    if database.functions:
        name = actor.rng.choice(list(database.functions))
        event = notifications.drop_function(database, name)
        actor.write(_delete(database, name), event)


def _delete(database: Database, name: str) -> list[Change]:
    keys = [{"FUNC_ID": database.functions.pop(name)}]
    return [Delete("FUNC_RU", keys), Delete("FUNCS", keys)]
