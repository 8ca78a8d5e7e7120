"""Asks a metastore whether it lets a client's user read a table or a database, by such a read."""

from collections.abc import Awaitable, Callable, Hashable
from typing import Final

from hive.names import default_catalog
from hive.thrift.binary import encode
from hive.thrift.requests import GET_TABLE
from hive.thrift.types import Struct, string
from query_api.authorization.areas import Area
from query_api.thrift.metastore.link import Reply
from query_api.thrift.metastore.upstream import Introduction
from query_api.thrift.protocol.wire import MessageType

ASK_TIMEOUT_S: Final = 10.0
_SUCCESS: Final = b"\x0c\0\0"
"""How a result begins that is a struct and no exception."""
_INSERT_ONLY_TABLES: Final = 2
_TABLE: Final = Struct("get_table_req_args", (1, "req", GET_TABLE))
_DATABASE: Final = Struct("get_database_args", (1, "name", string))


Ask = Callable[[str, bytes], Awaitable[Reply | None]]
"""Makes a call as the user; None without a reply."""


class MetastoreReader:
    """The user of a client, as authorizers know it."""

    def __init__(self, introduction: Introduction, ask_as_user: Ask) -> None:
        self.user: Final = introduction.user
        # Those who only say who they are say their groups, too.
        self.key: Final[Hashable] = introduction.principal or introduction.claim_key
        self._ask = ask_as_user

    async def may_read(self, area: Area) -> bool | None:
        reply = await self._ask(*_read_of(area))
        if reply is None or reply.kind != MessageType.REPLY:
            return None
        return reply.body.startswith(_SUCCESS)


def _read_of(area: Area) -> tuple[str, bytes]:
    """A call that tells whether its user may read a table or a database."""
    if not area.table:
        is_default = area.catalog == default_catalog()
        name = area.db if is_default else f"@{area.catalog}#{area.db}"
        return "get_database", encode(_DATABASE, {"name": name})
    request = {
        "catName": area.catalog,
        "dbName": area.db,
        "tblName": area.table,
        "capabilities": {"values": [_INSERT_ONLY_TABLES]},
    }
    return "get_table_req", encode(_TABLE, {"req": request})
