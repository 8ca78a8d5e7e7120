"""Decides who answers each call of a client: the cache, another worker, or a metastore."""

from functools import partial
from time import perf_counter
from typing import Final

import msgspec
import structlog

from hive.errors import MetatideError, ThriftError, UnprovedError
from query_api.reasons import Reason, Source
from query_api.targets import Target
from query_api.thrift.call import Call, CallAnswer, Client, Relay, RelayReason
from query_api.thrift.connection.connection import Connection
from query_api.thrift.forward import FORWARDED, call_of, forwarded_answer, reply
from query_api.thrift.hub import Hub
from query_api.thrift.metastore.client_identity import (
    REPEATED,
    REPEATED_BYTES_MAX,
    SET_META_CONF,
    SET_UGI,
)
from query_api.thrift.metastore.constants import CONSTANT_METHODS
from query_api.thrift.own_writes import OwnWrites
from query_api.thrift.protocol.scanner import READ_STEPS_MAX
from query_api.thrift.protocol.wire import Fault, Message, MessageType, refusal
from query_api.thrift.relay import ClientRelay
from query_api.thrift.replies import CALL_HEAD, HEAD_BYTES_MIN, NAME_LENGTH_AT, Replies, key_of
from query_api.thrift.results import whole
from query_api.thrift.sasl.mechanism import Identity
from query_api.thrift.thrift_peers import PeerCall

_GOODBYE: Final = "shutdown"
"""What Hive's clients call before they close a connection, without awaiting a reply."""

log = structlog.get_logger(__name__)


class Dispatch:
    """Answers the calls of one connection, or relays them.

    1. The cache's answers reflect all that this client wrote through this connection. Once it has
       changed a setting of its metastore, it gets none.
    2. A metastore answers the other calls, and its reply is passed on byte for byte.
    """

    def __init__(self, hub: Hub, connection: Connection) -> None:
        self._hub = hub
        self._connection = connection
        self._client = Client(connection.client_address)
        self._own_writes = OwnWrites(hub, self._client)
        self._replies = Replies(hub, connection, self._client)
        self._relay = ClientRelay(hub, connection, self._client, self._own_writes, self._replies)
        self._peer_call: PeerCall | None = None

    @property
    def user(self) -> str:
        """The client's user, if it is known."""
        return self._client.user

    def answer_from_cache(self, data: bytes) -> bool:
        if len(data) < HEAD_BYTES_MIN or data[:NAME_LENGTH_AT] != CALL_HEAD:
            return False
        if self._client.has_settings or self._hub.guard.authorizer is not None:
            return False
        cached = self._hub.reply_cache.get(key_of(data))
        if cached is None or not self._own_writes.are_in(cached.reached):
            return False
        replies, head = self._replies, data[4 : HEAD_BYTES_MIN + data[NAME_LENGTH_AT]]
        replies.call_began = perf_counter()
        noted_s = self._own_writes.noted_s
        if not cached.to_confirm or cached.confirmed_by(self._hub.recent, noted_s) is not None:
            replies.send_cached(cached, head)
        elif cached.may_wait:
            replies.send_if_confirmed(cached, data, head)
        else:
            return False
        return True

    # Overridden in `traced_dispatch.py`.
    def begin(self, message: Message) -> None:
        self._replies.call_began = perf_counter()
        hub, method = self._hub, message.method
        if method == _GOODBYE:
            # A metastore only lets go of what it holds for the client, as it does when its
            # connection is closed.
            self._connection.close()
        elif message.kind != MessageType.CALL:
            # Whether a metastore replies depends on the method alone; nobody might await the reply.
            kind = MessageType(message.kind).name
            why = f"expected a call of {method}, not a message of the type {kind}"
            reply = refusal(method, message.sequence, Fault.PROTOCOL_ERROR, why)
            self._connection.end("protocol", why, reply=reply)
        elif method in hub.methods.names:
            self._begin_cacheable(message)
        elif method in CONSTANT_METHODS and not (hub.settings.relay_reads or hub.settings.shadow):
            if hub.guard.leaves_method(method):
                self._relay.send(message, RelayReason.GUARDED)
            else:
                self._answer_constant(message)
        elif method == FORWARDED:
            self._begin_forwarded(message)
        elif method in REPEATED and len(message.data) > REPEATED_BYTES_MAX:
            why = f"a {method} of {len(message.data)} bytes: at most {REPEATED_BYTES_MAX}"
            reply = refusal(method, message.sequence, Fault.PROTOCOL_ERROR, why)
            self._connection.end("protocol", why, reply=reply)
        elif method == SET_UGI and self._relay.introduce(message):
            self._replies.unanswered()
        else:
            self._relay.send(message, RelayReason.NOT_CACHED, copies=method == SET_META_CONF)

    def identify(self, identity: Identity) -> None:
        """Takes note of who the client has proved to be."""
        self._relay.prove(identity)

    def claim(self, user: str) -> None:
        """Takes note of who the client says that it is."""
        self._relay.claim(user)

    def writable(self, writable: bool) -> None:
        self._relay.writable(writable)

    # Overridden in `traced_dispatch.py`.
    def close(self) -> None:
        # It refers to this: a cycle would wait for the garbage collection.
        peer_call, self._peer_call = self._peer_call, None
        if peer_call is not None:
            peer_call.cancel()
        self._own_writes.close()
        self._relay.close()

    def _begin_cacheable(self, message: Message) -> None:
        """Begins a call of a method that the cache answers."""
        hub = self._hub
        if message.steps > READ_STEPS_MAX:
            self._relay.send(message, RelayReason.TOO_LONG)
        elif self._client.has_settings:
            self._relay.send(message, RelayReason.SETTINGS, self._call(message))
        elif hub.settings.relay_reads or hub.settings.shadow:
            self._relay_cacheable(message)
        elif hub.guard.leaves_method(message.method):
            self._relay.send(message, RelayReason.GUARDED, self._call(message))
        else:
            self._answer(message)

    def _answer(self, message: Message) -> None:
        client = self._client
        call = Call(message.method, message.body, client, client.min_position)
        if not self._own_writes.are_dated:
            self._connection.run(self._answer_with_own_writes(message, call))
            return
        try:
            outcome = self._hub.methods.answer_now(call)
        except Exception as error:
            outcome = _failed(message, error)
        if outcome is None:
            self._connection.run(self._answer_later(message, call))
        else:
            self._conclude(message, call, outcome)

    def _answer_constant(self, message: Message) -> None:
        result = self._hub.constants.cached(message.method, message.body)
        if result is None:
            self._connection.run(self._ask_constant(message))
        else:
            self._conclude_constant(message, result)

    async def _ask_constant(self, message: Message) -> None:
        result = await self._hub.constants.ask(message.method, message.body)
        if result is None:
            self._relay.send(message, RelayReason.NOT_CACHED)
        else:
            self._conclude_constant(message, result)

    def _conclude_constant(self, message: Message, result: bytes) -> None:
        reached = self._hub.views.reached
        answer = CallAnswer(result, Source.CACHE, Reason.FRESH, reached)
        self._replies.send(message, answer)

    async def _answer_later(self, message: Message, call: Call) -> None:
        try:
            outcome = await self._hub.methods.answer(call)
        except Exception as error:
            outcome = _failed(message, error)
        self._conclude(message, call, outcome)

    async def _answer_with_own_writes(self, message: Message, call: Call) -> None:
        if not await self._own_writes.date():
            self._relay.send(message, Reason.UNREAD, call)
            return
        call.min_position = self._client.min_position
        await self._answer_later(message, call)

    def _conclude(self, message: Message, call: Call, outcome: CallAnswer | Relay) -> None:
        least = self._client.min_position
        if isinstance(outcome, CallAnswer):
            if least is None or outcome.position.epoch <= least.epoch:
                self._send(message, call, outcome)
            else:
                self._own_writes.date_again()
                self._relay.send(message, Reason.REWOUND, call)
        elif outcome.reason is Reason.NOT_OWNED and outcome.shard is not None:
            self._forward(message, call, outcome, outcome.shard)
        else:
            self._relay.send(message, outcome.reason, call)

    def _call(self, message: Message) -> Call:
        return Call(message.method, message.body, self._client, self._client.min_position)

    def _send(self, message: Message, call: Call, answer: CallAnswer) -> None:
        """Sends an answer, unless metastores are to give it."""
        guard = self._hub.guard
        if not guard.is_on:
            self._replies.send(message, answer)
        elif guard.leaves(answer.targets):
            self._relay.send(message, RelayReason.GUARDED, call)
        elif guard.authorizer is None or not answer.targets:
            self._replies.send(message, answer)
        else:
            self._connection.run(self._send_if_allowed(message, call, answer, answer.targets))

    async def _send_if_allowed(
        self, message: Message, call: Call, answer: CallAnswer, targets: tuple[Target, ...]
    ) -> None:
        """Asks after the answer was made, so that what it tells is older than the permission."""
        try:
            may_see = await self._hub.guard.allows(self._relay.reader, targets, answer.position)
        except Exception as error:
            may_see = False
            _log_failure(message, error)
        if may_see:
            self._replies.send(message, answer)
        else:
            self._relay.send(message, RelayReason.UNAUTHORIZED, call)

    def _relay_cacheable(self, message: Message) -> None:
        """Relays a call that the cache could answer, but isn't allowed to."""
        call = self._call(message)
        shadow = self._hub.settings.shadow
        why = RelayReason.SHADOW if shadow else RelayReason.RELAY_READS
        self._relay.send(message, why, call, copies=shadow)

    def _forward(self, message: Message, call: Call, relay: Relay, shard: int) -> None:
        """Has a shard's owner answer: without a task, unless something must be awaited first."""
        call.age_ms_max = relay.age_ms_max
        if self._client.min_position is None:
            done = partial(self._take_peer_answer, message, call, relay)
            self._peer_call = self._hub.thrift_peers.ask_now(shard, call, done)
        if self._peer_call is None:
            self._connection.run(self._forward_later(message, call, relay, shard))

    def _take_peer_answer(
        self, message: Message, call: Call, relay: Relay, answer: CallAnswer | None
    ) -> None:
        self._peer_call = None
        try:
            self._conclude_forwarded(message, call, relay, answer)
        except Exception as error:
            self._connection.fail(error)

    async def _forward_later(self, message: Message, call: Call, relay: Relay, shard: int) -> None:
        answer = await self._hub.thrift_peers.ask(shard, call)
        if answer is not None and not await self._own_writes.are_reflected(shard, answer):
            answer = None
        self._conclude_forwarded(message, call, relay, answer)

    def _conclude_forwarded(
        self, message: Message, call: Call, relay: Relay, answer: CallAnswer | None
    ) -> None:
        if answer is None:
            self._relay.send(message, relay.reason, call)
            return
        if relay.log_age_ms is None:
            answer.moment = None
        else:
            answer.max_age_ms = relay.log_age_ms
        self._send(message, call, answer)

    def _begin_forwarded(self, message: Message) -> None:
        """Answers a call that another worker forwards."""
        methods, thrift_peers = self._hub.methods, self._hub.thrift_peers
        peers, nonce = thrift_peers.peers, b""
        answer: CallAnswer | Relay | None
        try:
            call, nonce = call_of(message, peers, thrift_peers.own_address)
            guard = self._hub.guard
            is_left = self._hub.settings.relay_reads or guard.leaves_method(call.method)
            if call.method not in methods.names or is_left:
                raise ThriftError(f"{call.method} is not answered here")
            if guard.is_on and not peers.have_secret:
                raise ThriftError("without a secret, workers don't tell each other what is guarded")
            answer = methods.answer_now(call)
        except UnprovedError as error:
            why = str(error)
            data = refusal(message.method, message.sequence, Fault.UNKNOWN_METHOD, why)
            self._connection.end("stranger", why, reply=data)
            return
        except Exception as error:
            answer = _failed(message, error)
        if isinstance(answer, Relay) or (answer is not None and isinstance(answer.result, bytes)):
            self._reply_to_peer(message, answer, nonce)
        else:
            self._connection.run(self._answer_forwarded(message, call, answer, nonce))

    async def _answer_forwarded(
        self, message: Message, call: Call, answer: CallAnswer | None, nonce: bytes
    ) -> None:
        outcome: CallAnswer | Relay
        try:
            outcome = answer or await self._hub.methods.answer(call)
        except Exception as error:
            outcome = _failed(message, error)
        if isinstance(outcome, CallAnswer) and not self._hub.guard.leaves(outcome.targets):
            result = await whole(outcome.result, self._connection.count_held)
            outcome = msgspec.structs.replace(outcome, result=result)
        self._reply_to_peer(message, outcome, nonce)

    def _reply_to_peer(self, message: Message, answer: CallAnswer | Relay, nonce: bytes) -> None:
        peers, guard = self._hub.thrift_peers.peers, self._hub.guard
        if isinstance(answer, Relay) or guard.leaves(answer.targets):
            self._connection.write(reply(message, None, peers, nonce))
            self._replies.unanswered()
            return
        names = self._hub.database.history.former_names
        forwarded = forwarded_answer(answer, names, is_guarded=guard.is_on)
        self._connection.write(reply(message, forwarded, peers, nonce))
        self._replies.answered(message.method, answer.source, answer.reason)


def _failed(message: Message, error: Exception) -> Relay:
    """Handles a failure of the cache by relaying the call."""
    _log_failure(message, error)
    return Relay(RelayReason.FAILED)


def _log_failure(message: Message, error: Exception) -> None:
    if isinstance(error, MetatideError):
        log.info("a call could not be answered here", method=message.method, error=str(error))
    else:
        log.error("answering a call failed", method=message.method, exc_info=error)
