"""The connections to metastores that relay calls of clients."""

import asyncio
from collections import deque
from typing import Final

import msgspec

from hive.errors import UpstreamError
from query_api.thrift.metastore.link import Link
from query_api.thrift.metastore.upstream import Introduction, Upstreams

WAIT_S: Final = 10.0
"""How long a call waits for one of its user's connections to become free."""


class _User(msgspec.Struct, eq=False):
    links: set[Link]
    waiting: deque[asyncio.Future[None]]
    opening: int = 0
    """How many connections are being opened."""
    asking: int = 0
    """How many clients want one."""


class ClientLinks:
    """Each client has a connection of its own while it makes calls. Those of a user are limited:
    beyond that, the one that has rested longest is closed for a new one. All are closed when they
    have rested for long. A client whose connection was closed gets another with its next call.
    """

    def __init__(self, upstreams: Upstreams) -> None:
        self._upstreams = upstreams
        self._users: dict[str, _User] = {}

    @property
    def count(self) -> int:
        return sum(link.usable for user in self._users.values() for link in user.links)

    async def open(self, introduction: Introduction) -> Link:
        """A new connection for a client. Raises UpstreamError if no metastore answers, or if too
        many calls of its user are under way.
        """
        name = introduction.user
        user = self._users.setdefault(name, _User(set(), deque()))
        user.asking += 1
        try:
            await self._make_room(name, user)
            user.opening += 1
            try:
                link = await self._upstreams.open(introduction)
            finally:
                user.opening -= 1
            user.links.add(link)
        except BaseException:
            user.asking -= 1
            self.rested(name)
            raise
        user.asking -= 1
        return link

    def rested(self, name: str) -> None:
        """Called when a call of a user has ended, or when one of the user's clients has left."""
        user = self._users.get(name)
        if user is None:
            return
        while user.waiting:
            waiter = user.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._forget(name, user)

    def check(self, now: float) -> None:
        """Closes the connections that have rested for long; called every few seconds."""
        idle_s = self._upstreams.settings.idle_s
        for name, user in list(self._users.items()):
            for link in user.links:
                if not link.is_busy and now - link.used_s > idle_s:
                    link.close()
            self._forget(name, user)

    async def _make_room(self, name: str, user: _User) -> None:
        links_max = self._upstreams.settings.connections_per_user_max
        try:
            async with asyncio.timeout(WAIT_S):
                while not self._has_room(user, links_max):
                    waiter = asyncio.get_running_loop().create_future()
                    user.waiting.append(waiter)
                    await waiter
        except TimeoutError:
            raise UpstreamError(
                f"the user {name!r} has {links_max} calls under way at metastores, as many as may "
                "be (upstream.connections_per_user_max)"
            ) from None

    def _has_room(self, user: _User, links_max: int) -> bool:
        user.links = {link for link in user.links if link.usable}
        if len(user.links) + user.opening < links_max:
            return True
        resting = [link for link in user.links if not link.is_busy]
        if not resting:
            return False
        longest = min(resting, key=lambda link: link.used_s)
        longest.close()
        user.links.discard(longest)
        return True

    def _forget(self, name: str, user: _User) -> None:
        """Forgets the user if nothing of it is left."""
        user.links = {link for link in user.links if link.usable}
        if not user.links and not user.asking:
            self._users.pop(name, None)
