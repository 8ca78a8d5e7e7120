"""`metatide get`: reads from a server and prints the answer as a table or as JSON."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import click

from hive.errors import InputError
from metatide.cli.empty_answers import check_catalog, check_columns, check_database
from metatide.cli.get_options import Rows, Show, asking, cell
from metatide.cli.groups import Group
from metatide.cli.reading import database_name, not_empty, table_name
from metatide.client import Client, Need, Which

_TYPES = "MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW", "MATERIALIZED_VIEW"


def _limit(default: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The option of how many to list at most, whose default is the server's."""
    return click.option(
        "--limit", type=click.IntRange(min=1), help=f"The maximum number; {default}."
    )


@click.group("get", cls=Group)
def command() -> None:
    """Read from a running Metatide.

    Prints a table on a terminal. In a pipe, or with --json, prints JSON with the field names of
    Hive's Thrift.
    """


@command.command()
@click.argument("name", metavar="DB.TABLE", callback=table_name)
@asking
def table(client: Client, need: Need, show: Show, name: str) -> None:
    """Get a table."""
    show(client.table(name, need), ("field", "value"), _fields)


@command.command()
@click.argument("db", metavar="DB", callback=database_name)
@click.option("--pattern", default="*", help="Hive's pattern: * and |.")
@click.option(
    "--type",
    "types",
    type=click.Choice(_TYPES, case_sensitive=False),
    multiple=True,
    help="Only tables of this type; repeatable.",
)
@click.option("--after", default="", help="Start after this name.")
@_limit("10,000 by default")
@asking
def tables(
    client: Client,
    need: Need,
    show: Show,
    db: str,
    pattern: str,
    types: tuple[str, ...],
    after: str,
    limit: int | None,
) -> None:
    """List the tables of a database, or all tables that match Hive's patterns."""
    if "*" in db or "|" in db:
        catalog, _, databases = db.rpartition(".")
        answer = client.table_metadata(databases, pattern, types, after, catalog, limit, need)
        check_catalog(client, catalog, answer)
        columns = "dbName", "tableName", "tableType", "ownerName"
        show(answer, ("database", "table", "type", "owner"), _columns(*columns))
    else:
        answer = client.table_names(db, pattern, types, after, limit, need)
        check_database(client, db, answer, need)
        show(answer, ("table", "type", "owner"), _columns("tableName", "tableType", "ownerName"))


@command.command()
@asking
def catalogs(client: Client, need: Need, show: Show) -> None:
    """List all catalogs."""
    show(client.catalogs(need), ("catalog",), _lines)


@command.command()
@click.argument("db", metavar="DB", callback=database_name)
@asking
def database(client: Client, need: Need, show: Show, db: str) -> None:
    """Get a database."""
    show(client.database(db, need), ("field", "value"), _fields)


@command.command()
@click.option("--pattern", default="*", help="Hive's pattern: * and |.")
@click.option("--catalog", default="", help="The catalog; hive by default.")
@click.option("--after", default="", help="Start after this name.")
@_limit("10,000 by default")
@asking
def databases(
    client: Client,
    need: Need,
    show: Show,
    pattern: str,
    catalog: str,
    after: str,
    limit: int | None,
) -> None:
    """List all databases."""
    answer = client.databases(pattern, catalog, after, limit, need)
    check_catalog(client, catalog, answer)
    show(answer, ("database", "location"), _columns("name", "locationUri"))


@command.command()
@click.argument("db", metavar="DB", callback=database_name)
@click.option("--pattern", default="*", help="Hive's pattern: * and |.")
@click.option("--after", default="", help="Start after this name.")
@_limit("10,000 by default")
@asking
def functions(
    client: Client, need: Need, show: Show, db: str, pattern: str, after: str, limit: int | None
) -> None:
    """List the functions of a database."""
    answer = client.functions(db, pattern, after, limit, need)
    check_database(client, db, answer, need)
    show(answer, ("function", "class"), _columns("functionName", "className"))


@command.command()
@click.argument("db", metavar="DB", callback=database_name)
@click.argument("name", metavar="FUNCTION", callback=not_empty)
@asking
def function(client: Client, need: Need, show: Show, db: str, name: str) -> None:
    """Get a function."""
    show(client.function(db, name, need), ("field", "value"), _fields)


@command.command()
@click.argument("name", metavar="DB.TABLE", callback=table_name)
@click.argument("partition", metavar="PARTITION", callback=not_empty)
@asking
def partition(client: Client, need: Need, show: Show, name: str, partition: str) -> None:
    """Get a partition by its name, such as ds=2026-01-01/hr=7."""
    show(client.partition(name, partition, need), ("field", "value"), _fields)


@command.command()
@click.argument("name", metavar="DB.TABLE", callback=table_name)
@click.option("--filter", "filter_", default="", help="Hive's filter, as \"ds >= '2026-01-01'\".")
@click.option(
    "--prefix", multiple=True, help="The first values, each once; an empty one matches any."
)
@click.option("--name", "names", multiple=True, help="A partition's name; repeatable.")
@click.option("--after", default="", help="Start after this name.")
@_limit("10,000 names by default, 1,000 partitions with --whole")
@click.option("--whole", is_flag=True, help="Get whole partitions, not only their names.")
@click.option("--count", is_flag=True, help="Get only the number of partitions.")
@asking
def partitions(
    client: Client,
    need: Need,
    show: Show,
    name: str,
    filter_: str,
    prefix: tuple[str, ...],
    names: tuple[str, ...],
    after: str,
    limit: int | None,
    whole: bool,
    count: bool,
) -> None:
    """List the partitions of a table."""
    if count and (useless := _useless({"--after": after, "--limit": limit, "--whole": whole})):
        raise InputError(f"--count counts all partitions that match: leave out {useless}")
    which = Which(filter_, prefix, names or None, after, limit)
    if count:
        show(client.partition_count(name, which, need), ("partitions",), _one)
    elif whole:
        show(client.partitions(name, which, need), ("values", "location"), _partition_rows)
    else:
        show(client.partition_names(name, which, need), ("partition",), _lines)


@command.command()
@click.argument("name", metavar="DB.TABLE", callback=table_name)
@click.option("--column", "columns", multiple=True, help="Only this column; repeatable.")
@click.option(
    "--partition", "names", multiple=True, help="The statistics of this partition; repeatable."
)
@click.option("--as-one", is_flag=True, help="Aggregate the statistics over all given partitions.")
@click.option(
    "--engine", default="", help="The engine that computed the statistics; hive by default."
)
@asking
def statistics(
    client: Client,
    need: Need,
    show: Show,
    name: str,
    columns: tuple[str, ...],
    names: tuple[str, ...],
    as_one: bool,
    engine: str,
) -> None:
    """Get the statistics of columns of a table or of its partitions."""
    figures = "colName", "colType", "statsData"
    headings = "column", "type", "statistics"
    if as_one:
        if not (names and columns):
            raise InputError("--as-one needs --partition and --column; both are repeatable")
        answer = client.aggregate_statistics(name, names, columns, engine, need)
        check_columns(client, name, columns, answer.value, need)
        show(answer, headings, _columns(*figures))
    elif names:
        by_partition = client.partition_statistics(name, names, columns, engine, need)
        check_columns(client, name, columns, chain(*by_partition.value.values()), need)
        show(
            by_partition,
            ("partition", *headings),
            lambda value: (
                (partition, *cells)
                for partition, rows in value.items()
                for cells in _columns(*figures)(rows)
            ),
        )
    else:
        answer = client.statistics(name, columns, engine, need)
        check_columns(client, name, columns, answer.value, need)
        show(answer, headings, _columns(*figures))


@command.command()
@click.argument("name", metavar="DB.TABLE", callback=table_name)
@asking
def constraints(client: Client, need: Need, show: Show, name: str) -> None:
    """Get the constraints of a table."""
    show(client.constraints(name, need), ("kind", "column"), _constraint_rows)


@command.command()
@asking
def event(client: Client, need: Need, show: Show) -> None:
    """Get the id of the last event of the metastore."""
    show(client.current_event(need), ("event",), _one)


@command.command("write-ids")
@click.argument("names", metavar="DB.TABLE...", nargs=-1, required=True)
@click.option(
    "--txns", default="", help="A ValidTxnList; by default that of a reader who begins now."
)
@asking
def write_ids(client: Client, need: Need, show: Show, names: tuple[str, ...], txns: str) -> None:
    """Get the write-id lists and ids of tables, as of one moment, for a reader to pass on."""
    show(
        client.write_ids(names, txns, need),
        ("table", "id", "write ids"),
        lambda value: _columns("fullTableName", "id", "validWriteIdList")(value["tables"]),
    )


def _useless(options: Mapping[str, object]) -> str:
    """The options that were given, in words."""
    return " and ".join(name for name, value in options.items() if value)


def _fields(value: dict[str, Any], within: str = "") -> Iterator[tuple[str, ...]]:
    """The fields of a struct and of structs within it; columns look as in their declaration."""
    for name, item in value.items():
        if isinstance(item, dict) and item:
            yield from _fields(item, f"{within}{name}.")
        elif isinstance(item, list) and item and all(map(_is_column, item)):
            yield f"{within}{name}", "\n".join(map(_declared, item))
        else:
            yield f"{within}{name}", cell(item)


def _is_column(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() - {"comment"} == {"name", "type"}


def _declared(column: dict[str, Any]) -> str:
    comment = column.get("comment")
    return f"{column['name']} {column['type']}" + (f"  {comment}" if comment else "")


def _columns(*fields: str) -> Rows:
    return lambda value: (tuple(cell(row.get(field)) for field in fields) for row in value)


def _one(value: int) -> Iterable[tuple[str, ...]]:
    return [(str(value),)]


def _lines(value: list[str]) -> Iterable[tuple[str, ...]]:
    return ((name,) for name in value)


def _partition_rows(value: list[dict[str, Any]]) -> Iterable[tuple[str, ...]]:
    # Those of a view have no storage descriptor.
    return (
        (", ".join(partition["values"]), cell(partition.get("sd", {}).get("location")))
        for partition in value
    )


def _constraint_rows(value: dict[str, list[dict[str, Any]]]) -> Iterable[tuple[str, ...]]:
    for kind, constraints in value.items():
        for constraint in constraints:
            yield kind, cell(constraint.get("column_name") or constraint.get("fkcolumn_name"))
