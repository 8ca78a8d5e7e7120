"""Who decides whether a user may see what the cache would answer."""

from collections.abc import Hashable, Set
from typing import Protocol

from query_api.authorization.areas import Area
from query_api.positions import Position


class Reader(Protocol):
    """The user of a client."""

    @property
    def user(self) -> str: ...

    @property
    def key(self) -> Hashable:
        """All by which metastores tell this user from others."""
        ...

    async def may_read(self, area: Area, /) -> bool | None:
        """Has a metastore decide by a read of a table or a database; None if it doesn't answer."""
        ...


class Authorizer(Protocol):
    """Decides for a user. A no isn't a refusal: the metastore answers the call, or refuses it."""

    async def may_see(self, reader: Reader, areas: Set[Area], position: Position, /) -> bool:
        """Whether the user may see an answer as of this position about all of these areas, at a
        moment after the call of this method began.
        """
        ...
