"""Why an answer lacks something: the metastore lists nothing for names that don't exist, too."""

from collections.abc import Iterable, Sequence
from typing import Any

from hive.errors import InputError
from metatide.client import Answer, Client, ColumnStatisticsObj, Need


def check_database(client: Client, db: str, answer: Answer[list[Any]], need: Need) -> None:
    """Raises the server's error if nothing is listed because there is no such database."""
    if not answer.value:
        client.database(db, need)


def check_catalog(client: Client, catalog: str, answer: Answer[list[Any]]) -> None:
    """Raises InputError if nothing is listed because there is no such catalog."""
    if catalog and not answer.value and catalog.lower() not in client.catalogs().value:
        raise InputError(f"there is no catalog {catalog.lower()}")


def check_columns(
    client: Client,
    table: str,
    columns: Sequence[str],
    listed: Iterable[ColumnStatisticsObj],
    need: Need,
) -> None:
    """Raises InputError if a column has no statistics because the table has no such column."""
    without = {column.lower() for column in columns} - {row.colName for row in listed}
    if not without:
        return
    described = client.table(table, need).value
    lists = described.sd and described.sd.cols, described.partitionKeys
    of_table = {column.name for columns_ in lists for column in columns_ or ()}
    if unknown := sorted(without - of_table):
        raise InputError(
            f"{table} has no column {unknown[0]}: it has {', '.join(sorted(of_table))}"
        )
