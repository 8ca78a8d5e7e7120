"""Tables that a request names."""

from typing import Final

import msgspec

from hive.errors import InputError
from hive.names import TableName, parse_table_name

TABLES_MAX: Final = 1_000


class TableNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The names of 1 to 1,000 tables, as `db.table` or `catalog.db.table`."""

    tables: list[str]

    def distinct(self) -> list[TableName]:
        """Each table once, in the order of the request."""
        if not 0 < len(self.tables) <= TABLES_MAX:
            raise InputError(f"name 1 to {TABLES_MAX} tables, not {len(self.tables)}")
        return list(dict.fromkeys(map(parse_table_name, self.tables)))
