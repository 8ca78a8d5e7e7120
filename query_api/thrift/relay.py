"""The calls of one client that metastores answer, over a connection of its own to one of them."""

import asyncio
from time import perf_counter

from hive.errors import UpstreamError
from query_api.reasons import Reason
from query_api.thrift.call import Call, Client, RelayReason, Why
from query_api.thrift.connection.connection import Connection
from query_api.thrift.hub import Hub
from query_api.thrift.metastore.client_identity import SET_META_CONF, ClientIdentity
from query_api.thrift.metastore.link import Link, Reply, ask
from query_api.thrift.metastore.reader import ASK_TIMEOUT_S, MetastoreReader
from query_api.thrift.metastore.relayed_call import RelayedCall
from query_api.thrift.method_kinds import may_change_answers
from query_api.thrift.own_writes import OwnWrites
from query_api.thrift.protocol.wire import Fault, Message, refusal
from query_api.thrift.replies import Replies
from query_api.thrift.sasl.mechanism import Identity


class ClientRelay:
    """Sends calls on, passes on the replies, and takes note of what they change."""

    def __init__(
        self,
        hub: Hub,
        connection: Connection,
        client: Client,
        own_writes: OwnWrites,
        replies: Replies,
    ) -> None:
        self._hub = hub
        self._connection = connection
        self._client = client
        self._own_writes = own_writes
        self._replies = replies
        self._identity = ClientIdentity(client, lambda: connection.authorization)
        self._link: Link | None = None
        self._link_user = ""

    def prove(self, identity: Identity) -> None:
        """Has metastores told who the client has proved to be."""
        self._identity.prove(identity)

    def claim(self, user: str) -> None:
        """Has metastores told who the client says that it is."""
        self._identity.claim(user)

    @property
    def reader(self) -> MetastoreReader:
        """The client's user, for whom a metastore decides."""
        return MetastoreReader(self._identity.introduction, self._ask)

    def introduce(self, message: Message) -> bool:
        """Answers a `set_ugi` without connecting to a metastore, if possible; returns whether it
        did.
        """
        reply = self._identity.introduce(message)
        if self._identity.is_proved:
            why = "set_ugi can't be read"
            reply = reply or refusal(message.method, message.sequence, Fault.PROTOCOL_ERROR, why)
        elif reply is None:
            return False
        elif self._link is not None:
            if self._hub.upstreams.settings.http_path is None:
                return False
            # The next one names the user.
            self._link.close()
        self._connection.write(reply)
        return True

    # Overridden in `traced_dispatch.py`.
    def send(
        self,
        message: Message,
        why: Why,
        call: Call | None = None,
        *,
        copies: bool = False,
    ) -> None:
        """Relays a message. `call` is set if the cache could answer its method."""
        if call is not None and self._hub.methods.may_be_dropped(call.method):
            self._connection.run(self._send_instead(message, why, call, copies=copies))
        else:
            self._relay(RelayedCall(self, message, why, copies=copies))

    def writable(self, writable: bool) -> None:
        """Reads from the metastore only while the client takes what it is sent."""
        if self._link is not None:
            if writable:
                self._link.resume()
            else:
                self._link.pause()

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._rested()

    # Called by a relayed call.

    def pass_on(self, data: bytes) -> None:
        self._connection.write(data)

    def count_held(self, size: int) -> None:
        self._connection.count_held(size)

    # Overridden in `traced_dispatch.py`.
    def relayed(self, call: RelayedCall) -> None:
        self._rested()
        message, method = call.message, call.message.method
        if may_change_answers(method):
            self._own_writes.note()
        elif method == SET_META_CONF:
            self._identity.set(message, call.result or b"")
        elif call.why is RelayReason.SHADOW:
            read = Call(method, message.body, self._client, self._client.min_position)
            self._hub.shadow.compare(read, call.result, self._identity.introduction)
        if isinstance(call.why, Reason):
            self._hub.metastore_latency.note(perf_counter() - call.began)
        self._replies.relayed(method, call.why)

    def unanswered(self, call: RelayedCall, why: str) -> None:
        assert self._link is not None
        self._hub.upstreams.avoid(self._link.address)
        # It is still open if all of the reply came, but can't be translated.
        self._link.close()
        self._link = None
        self._rested()
        if call.may_try_again and call.tries <= self._hub.upstreams.count:
            self._connection.run(self._open_and_relay(call))
        else:
            self._connection.end("upstream", f"the metastore's reply is incomplete: {why}")

    async def _ask(self, method: str, arguments: bytes) -> Reply | None:
        """Makes a call for the client while one of its own is under way."""
        try:
            async with asyncio.timeout(ASK_TIMEOUT_S):
                if self._link is None or not self._link.usable:
                    self._link = await self._open()
                return await ask(self._link, method, arguments)
        except (UpstreamError, TimeoutError):
            if self._link is not None:
                self._link.close()
            return None
        finally:
            self._rested()

    async def _open(self) -> Link:
        introduction = self._identity.introduction
        self._link_user = introduction.user
        return await self._hub.links.open(introduction)

    def _rested(self) -> None:
        self._hub.links.rested(self._link_user)

    async def _send_instead(self, message: Message, why: Why, call: Call, *, copies: bool) -> None:
        instead = await self._hub.methods.instead(call)
        self._relay(RelayedCall(self, message, why, instead=instead, copies=copies))

    def _relay(self, call: RelayedCall) -> None:
        if self._link is not None and self._link.usable:
            self._begin(call, self._link)
        else:
            self._connection.run(self._open_and_relay(call))

    async def _open_and_relay(self, call: RelayedCall) -> None:
        message = call.message
        try:
            self._link = await self._open()
        except UpstreamError as error:
            why = f"{error}; the cache can't answer ({call.why})"
            reply = refusal(message.method, message.sequence, Fault.INTERNAL_ERROR, why)
            self._connection.write(reply)
            self._hub.metrics.refused["upstream"] += 1
            self._replies.unanswered()
        else:
            self._begin(call, self._link)

    # Overridden in `traced_dispatch.py`.
    def _begin(self, call: RelayedCall, link: Link) -> None:
        call.begin(link)
