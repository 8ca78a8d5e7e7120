"""Reads the constraints of tables: all kinds in one statement."""

from collections.abc import Collection
from functools import cache
from typing import Any

from sqlalchemy import CompoundSelect, and_, cast, func, null, select, union_all
from sqlalchemy.types import BigInteger, Text

from hive.reader.details import has_id
from hive.reader.rows.constraints import FOREIGN, StoredConstraint, stored_constraints
from hive.reader.snapshot import DatabaseSnapshot
from hive.schema import Version, metadata

_PRIMARY = 0


def read_constraints(snapshot: DatabaseSnapshot, tables: Collection[int]) -> list[StoredConstraint]:
    """The constraints of tables with these ids; a foreign key belongs to its child.

    A foreign key whose parent has lost its primary key has no columns: the metastore shows none
    until the parent has a primary key again.
    """
    if not tables:
        return []
    return stored_constraints(snapshot.rows(_statement(snapshot.version), {"tables": list(tables)}))


@cache
def _statement(version: Version) -> CompoundSelect[Any]:
    tables = metadata(version).tables
    keys, tbls, dbs = tables["KEY_CONSTRAINTS"], tables["TBLS"], tables["DBS"]
    own = _Column(version, keys.c.PARENT_CD_ID, keys.c.PARENT_INTEGER_IDX, tbls.c.TBL_ID)
    common = (dbs.c.CTLG_NAME, dbs.c.NAME, tbls.c.TBL_NAME)
    no_text, no_number = cast(null(), Text), cast(null(), BigInteger)
    others = select(
        *(tbls.c.TBL_ID, keys.c.CONSTRAINT_TYPE, keys.c.CONSTRAINT_NAME, keys.c.POSITION),
        *(*common, own.name, keys.c.ENABLE_VALIDATE_RELY, keys.c.DEFAULT_VALUE),
        *(no_text, no_text, no_text, no_text, no_number, no_number),
    )
    joined = keys.join(tbls, tbls.c.TBL_ID == keys.c.PARENT_TBL_ID)
    others = others.select_from(own.outerjoin(joined.join(dbs, dbs.c.DB_ID == tbls.c.DB_ID)))
    others = others.where(has_id(keys.c.PARENT_TBL_ID, "tables"), keys.c.CONSTRAINT_TYPE != FOREIGN)

    child = _Column(version, keys.c.CHILD_CD_ID, keys.c.CHILD_INTEGER_IDX, tbls.c.TBL_ID)
    parent, parent_db = tbls.alias("PARENT"), dbs.alias("PARENT_DB")
    primary = keys.alias("PRIMARY_KEY")
    target = _Column(version, keys.c.PARENT_CD_ID, keys.c.PARENT_INTEGER_IDX, parent.c.TBL_ID)
    foreign = select(
        *(tbls.c.TBL_ID, keys.c.CONSTRAINT_TYPE, keys.c.CONSTRAINT_NAME, keys.c.POSITION),
        *(*common, child.name, keys.c.ENABLE_VALIDATE_RELY, keys.c.DEFAULT_VALUE),
        *(parent_db.c.NAME, parent.c.TBL_NAME, target.name, primary.c.CONSTRAINT_NAME),
        *(keys.c.UPDATE_RULE, keys.c.DELETE_RULE),
    )
    joined = (
        keys.join(tbls, tbls.c.TBL_ID == keys.c.CHILD_TBL_ID)
        .join(dbs, dbs.c.DB_ID == tbls.c.DB_ID)
        .join(parent, parent.c.TBL_ID == keys.c.PARENT_TBL_ID)
        .join(parent_db, parent_db.c.DB_ID == parent.c.DB_ID)
        .outerjoin(
            primary,
            and_(
                primary.c.PARENT_TBL_ID == keys.c.PARENT_TBL_ID,
                primary.c.PARENT_CD_ID == keys.c.PARENT_CD_ID,
                primary.c.PARENT_INTEGER_IDX == keys.c.PARENT_INTEGER_IDX,
                primary.c.CONSTRAINT_TYPE == _PRIMARY,
            ),
        )
    )
    foreign = foreign.select_from(target.outerjoin(child.outerjoin(joined)))
    foreign = foreign.where(
        has_id(keys.c.CHILD_TBL_ID, "tables"), keys.c.CONSTRAINT_TYPE == FOREIGN
    )
    return union_all(others, foreign)


class _Column:
    """The name of a column at a position of a descriptor, or else of the partition keys."""

    def __init__(self, version: Version, descriptor: Any, place: Any, table: Any) -> None:
        tables = metadata(version).tables
        self._columns, self._keys = tables["COLUMNS_V2"].alias(), tables["PARTITION_KEYS"].alias()
        self._descriptor, self._place, self._table = descriptor, place, table
        self.name = func.coalesce(self._columns.c.COLUMN_NAME, self._keys.c.PKEY_NAME)

    def outerjoin(self, joined: Any) -> Any:
        columns, keys = self._columns.c, self._keys.c
        return joined.outerjoin(
            self._columns,
            and_(columns.CD_ID == self._descriptor, columns.INTEGER_IDX == self._place),
        ).outerjoin(self._keys, and_(keys.TBL_ID == self._table, keys.INTEGER_IDX == self._place))
