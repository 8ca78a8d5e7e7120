"""Privileges on objects that only metastores show."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from hive.reader.grants import Principal
from hive.reader.rows.grants import GrantKind
from hive.reader.snapshot import DatabaseSnapshot
from hive.schema import Version, metadata
from query_api.thrift.call import RelayReason
from query_api.thrift.methods.grants import Grants
from query_api.thrift.methods.outcome import structs
from tests.query_api.folded_world import World

VERSION = Version.V4_1
ANN, BOB = (Principal(name, "USER") for name in ("ann", "bob"))


@pytest.fixture
def connection(small_world: World) -> Iterator[sa.Connection]:
    """In a transaction that isn't committed."""
    with small_world.store.engine.connect() as connection:
        yield connection


@pytest.mark.parametrize("table", ["PART_PRIVS", "PART_COL_PRIVS", "DC_PRIVS"])
def test_all_privileges_of_users_with_some_on_other_objects_are_left_to_metastores(
    connection: sa.Connection, table: str
) -> None:
    def listed(holder: Principal | None, *kinds: GrantKind) -> object:
        return Grants(kinds, holder, None).of(DatabaseSnapshot(connection, VERSION, 0, 1))

    everybody = (None, ANN, BOB)
    assert [listed(holder, *GrantKind) for holder in everybody] == [structs([])] * 3
    privileges = metadata(VERSION).tables[table]
    (id_,) = privileges.primary_key
    row = {"CREATE_TIME": 1, "GRANT_OPTION": 0, "PRINCIPAL_NAME": "ann", "PRINCIPAL_TYPE": "USER"}
    connection.execute(sa.insert(privileges).values({**row, id_.name: 1}))
    assert [listed(holder, *GrantKind) for holder in everybody] == [
        *(RelayReason.FORM, RelayReason.FORM, structs([]))
    ]
    assert listed(ANN, GrantKind.TABLE) == structs([])
