"""`metatide write-ids`: compares write-id lists."""

import click

from hive.errors import InputError
from hive.write_ids.lists import LONG_MAX, WriteIdList
from hive.write_ids.relations import Relation, only_in, relation
from hive.write_ids.text import TxnWriteIdLists, parse

SHOWN_MAX = 20


@click.group("write-ids")
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
    one, other = _pair(parse(requested), parse(cached))
    found = relation(one, other)
    click.echo(found.value)
    if not (one.is_snapshot and other.is_snapshot):
        click.echo(f"a list up to {LONG_MAX} comes from outside of a transaction and tells nothing")
    else:
        _show("only in the requested list", only_in(one, other, SHOWN_MAX + 1))
        _show("only in the cached list", only_in(other, one, SHOWN_MAX + 1))
    if found is not Relation.EQUAL:
        ctx.exit(1)


def _show(what: str, ids: list[int]) -> None:
    if ids:
        more = ", …" if len(ids) > SHOWN_MAX else ""
        click.echo(f"{what}: {', '.join(map(str, ids[:SHOWN_MAX]))}{more}")


def _pair(
    requested: WriteIdList | TxnWriteIdLists, cached: WriteIdList | TxnWriteIdLists
) -> tuple[WriteIdList, WriteIdList]:
    """The two lists, of the same table."""
    one = _pick(requested, cached)
    other = _pick(cached, one)
    if one.table and other.table and one.table.lower() != other.table.lower():
        raise InputError(f"{one.table} and {other.table}: give two lists of one table")
    return one, other


def _pick(
    lists: WriteIdList | TxnWriteIdLists, partner: WriteIdList | TxnWriteIdLists
) -> WriteIdList:
    """Picks a transaction's only list, or the one of the table that the other argument names."""
    if isinstance(lists, WriteIdList):
        return lists
    if isinstance(partner, WriteIdList):
        named = lists.lists.get(partner.table or "")
    else:
        common = lists.lists.keys() & partner.lists.keys()
        named = lists.lists[common.pop()] if len(common) == 1 else None
    if named is None and len(lists.lists) == 1:
        named = next(iter(lists.lists.values()))
    if named is None:
        tables = ", ".join(lists.lists) or "no table"
        raise InputError(f"the lists of transaction {lists.txn} are of {tables}: give one of them")
    return named
