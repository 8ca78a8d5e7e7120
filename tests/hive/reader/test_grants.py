"""Privileges of kinds that aren't read."""

from collections.abc import Callable

import pytest

from hive.reader.engines import unpooled_engine
from hive.reader.grants import Principal, has_other_grants
from hive.reader.snapshot import open_snapshot
from hive.schema import Version, create
from tests.hive.reader.new_rows import add_row

ANN, BOB = Principal("ann", "USER"), Principal("bob", "USER")


@pytest.mark.parametrize(
    ("table", "id_"), [("DC_PRIVS", "DC_GRANT_ID"), ("PART_PRIVS", "PART_GRANT_ID")]
)
def test_each_principal_with_a_grant_is_known(
    new_database: Callable[[], str], table: str, id_: str
) -> None:
    engine = unpooled_engine(new_database())
    create(engine, Version.V4_1)
    with open_snapshot(engine, Version.V4_1) as snapshot:
        assert not has_other_grants(snapshot, None)
    of_ann = {"PRINCIPAL_NAME": "ann", "PRINCIPAL_TYPE": "USER"}
    add_row(engine, Version.V4_1, table, **{id_: 1}, **of_ann)
    with open_snapshot(engine, Version.V4_1) as snapshot:
        have_any = [has_other_grants(snapshot, principal) for principal in (None, ANN, BOB)]
    assert have_any == [True, True, False]
    engine.dispose()
