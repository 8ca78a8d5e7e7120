"""`metatide write-ids`: compares write-id lists."""

import click

from hive.errors import InputError, WriteIdListError
from hive.write_ids.lists import LONG_MAX, WriteIdList
from hive.write_ids.relations import Relation, only_in, relation
from hive.write_ids.text import TxnWriteIdLists, parse
from metatide.cli.groups import Group

SHOWN_MAX = 20
_FORMS = (
    "write a list as Hive prints it (sales.orders:12:7:7,12:8), or in short, the high-water mark "
    "and the exceptions ([12:7,8,12])"
)


@click.group("write-ids", cls=Group)
def command() -> None:
    """Examine Hive's write-id lists."""


@command.command()
@click.argument("requested")
@click.argument("cached")
@click.pass_context
def compare(ctx: click.Context, requested: str, cached: str) -> None:
    """Compare a CACHED list with a REQUESTED one, and show which ids differ.

    A list is written as Hive prints it, such as sales.orders:12:7:7,12:8, or in short, such as
    [12:7,8,12]: the high-water mark and the exceptions. The exit status is 0 if the lists are
    equal, so that the cache would answer, 1 if they differ, and 2 if one of them is not a valid
    list.
    """
    try:
        lists = parse(requested), parse(cached)
    except WriteIdListError as error:
        raise InputError(f"{error}; {_FORMS}") from error
    requested_list, cached_list = _pair(*lists)
    outcome = relation(requested_list, cached_list)
    click.echo(outcome.value)
    if not (requested_list.is_snapshot and cached_list.is_snapshot):
        click.echo(
            f"a list up to {LONG_MAX} was made outside of a transaction and can't be compared"
        )
    else:
        _show("only in the requested list", only_in(requested_list, cached_list, SHOWN_MAX + 1))
        _show("only in the cached list", only_in(cached_list, requested_list, SHOWN_MAX + 1))
    if outcome is not Relation.EQUAL:
        ctx.exit(1)


def _show(what: str, ids: list[int]) -> None:
    if ids:
        more = ", …" if len(ids) > SHOWN_MAX else ""
        click.echo(f"{what}: {', '.join(map(str, ids[:SHOWN_MAX]))}{more}")


def _pair(
    requested: WriteIdList | TxnWriteIdLists, cached: WriteIdList | TxnWriteIdLists
) -> tuple[WriteIdList, WriteIdList]:
    """The two lists; raises InputError unless they are of the same table."""
    requested_list = _pick(requested, cached)
    cached_list = _pick(cached, requested_list)
    if (
        requested_list.table
        and cached_list.table
        and requested_list.table.lower() != cached_list.table.lower()
    ):
        raise InputError(
            f"{requested_list.table} and {cached_list.table}: give two lists of the same table"
        )
    return requested_list, cached_list


def _pick(
    lists: WriteIdList | TxnWriteIdLists, other: WriteIdList | TxnWriteIdLists
) -> WriteIdList:
    """Picks the list of the other's table from a transaction's lists, or their only one."""
    if isinstance(lists, WriteIdList):
        return lists
    if isinstance(other, WriteIdList):
        named = lists.lists.get(other.table or "")
    else:
        common = lists.lists.keys() & other.lists.keys()
        named = lists.lists[common.pop()] if len(common) == 1 else None
    if named is None and len(lists.lists) == 1:
        named = next(iter(lists.lists.values()))
    if named is None:
        tables = ", ".join(lists.lists) or "no table"
        raise InputError(f"the lists of transaction {lists.txn} are of {tables}: give one of them")
    return named
