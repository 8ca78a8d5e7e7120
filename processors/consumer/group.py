"""The live consumer: a Faust app, a member of the group that shares out the shards."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import faust
import structlog
from aiokafka.errors import KafkaError
from faust.tables.manager import TableManager
from faust.types import TP
from mode import Seconds
from msgspec import Struct

from processors.back_off import BackOff
from processors.consumer.credentials import consumer_settings, credentials
from processors.consumer.faust_transport import Transport
from processors.consumer.member import Member
from processors.live_record import LiveRecord
from state.topic import Topic
from state.topic.properties import RACK
from state.topic.settings import RECORD_BYTES_MAX

FETCH_RECORDS_MAX: Final = 500
# Members learn from a heartbeat that they must rejoin, and the group waits for the last of them.
HEARTBEAT_S: Final = 0.5
BACK_OFF_MAX_S: Final = 10.0
PROVEN_S: Final = 30.0
COMMIT_EVERY_S: Final = 1.0
STOP_TIMEOUT_S: Final = 3.0
FOLLOW_TIMEOUT_S: Final = 10.0
REQUEST_S_MIN: Final = 90.0
"""Faust's own limit of a request; it refuses a session that is longer than that limit."""
REQUEST_SLACK_S: Final = 10.0

log = structlog.get_logger(__name__)


class Membership(Struct, frozen=True):
    """The name and address with which a worker joins a group."""

    group: str
    name: str
    address: str
    """The HOST:PORT at which this worker answers; the others learn it from the group."""
    session_timeout_s: int
    folder: Path


class _NoTables(TableManager):
    """A stub, since Faust waits a second for tables to be declared and there are none."""

    async def sleep(self, n: Seconds, **_: Any) -> None:
        await super().sleep(0)


class Group:
    """Keeps a Faust app running and passes on what it brings.

    1. Offers all live records of the worker's shards, in the order in which Faust brings them.
    2. Says which shards are this worker's, and when that may be about to change.
    3. Faust's committed offsets only serve lag tools: shards say by `follow` where to go on.
    4. If Faust crashes, as it does when a commit fails, another app takes its place.
    5. A worker rejoins as the member that it was before a kill: nobody waits for the old session.
    """

    def __init__(
        self,
        topic: Topic,
        membership: Membership,
        *,
        offer: Callable[[int, Sequence[LiveRecord]], None],
        assigned: Callable[[frozenset[int]], None],
        unsettled: Callable[[], None],
    ) -> None:
        self._topic = topic
        self._membership = membership
        self._offer = offer
        self._assigned = assigned
        self._unsettled = unsettled
        self._app: faust.App | None = None
        self._shared: Mapping[str, Mapping[str, list[int]]] = {}
        self._owners: dict[int, str] = {}
        self._member = Member(membership.folder / "member", self._client_id)

    @property
    def _client_id(self) -> str:
        """The prefix of the member's id in the group, so that tools show which member runs
        where."""
        return f"{self._membership.name}@{self._membership.address}"

    async def run(self) -> None:
        """Runs until it is cancelled."""
        back_off = BackOff(max_s=BACK_OFF_MAX_S, proven_s=PROVEN_S)
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            app = self._make_app()
            try:
                await app.start()
                self._app = app
                await app.wait_until_stopped()
                log.error("the live consumer crashed; starting another", why=str(app.crash_reason))
            except Exception as error:
                log.error("the live consumer didn't start; starting another", why=str(error))
            finally:
                self._app = None
                self._unsettled()
                await self._stop(app)
            await back_off.wait(loop.time() - began)

    async def follow(self, shard: int, offset: int) -> bool:
        """Moves the consumer of a shard to an offset; False when that isn't possible now."""
        app = self._app
        if app is None or app.rebalancing:
            return False
        where = TP(self._topic.name, shard)
        consumer: Any = app.consumer
        try:
            if where not in consumer.assignment() or not consumer.flow_active:
                return False
            # A thread that stops takes requests that it never answers, and then has no loop, which
            # is a RuntimeError.
            async with asyncio.timeout(FOLLOW_TIMEOUT_S):
                await consumer.seek_wait({where: offset})
        except (
            KafkaError,
            TimeoutError,
            RuntimeError,
            faust.exceptions.ConsumerNotStarted,
        ) as error:
            log.info("the live consumer can't be moved now", shard=shard, why=str(error))
            return False
        return not app.rebalancing

    def owner(self, shard: int) -> str | None:
        """The address of a shard's owner as of the last rebalance; None if it isn't known."""
        if self._app is None:
            return None
        assignor: Any = self._app.assignor
        shared: Mapping[str, Mapping[str, list[int]]] = assignor.external_topic_distribution
        # Each rebalance makes another one. Every read that is passed on asks for an owner, of
        # which there may be a thousand.
        if shared is not self._shared:
            self._shared = shared
            self._owners = {
                number: url.partition("://")[2].rstrip("/")
                for url, topics in shared.items()
                for number in topics.get(self._topic.name, [])
            }
        return self._owners.get(shard)

    def _make_app(self) -> faust.App:
        membership = self._membership
        timeout_s = membership.session_timeout_s
        app = faust.App(
            membership.group,
            broker=f"aiokafka://{self._topic.servers.replace(',', ';aiokafka://')}",
            broker_credentials=credentials(self._topic.security),
            **consumer_settings(self._topic.security),
            broker_client_id=self._client_id,
            canonical_url=f"http://{membership.address}",
            broker_session_timeout=timeout_s,
            broker_request_timeout=max(REQUEST_S_MIN, timeout_s + REQUEST_SLACK_S),
            broker_heartbeat_interval=HEARTBEAT_S,
            broker_rebalance_timeout=timeout_s,
            broker_max_poll_interval=3600,
            broker_commit_interval=COMMIT_EVERY_S,
            broker_max_poll_records=FETCH_RECORDS_MAX,
            # Without a committed offset, bulk replay reads what there is.
            consumer_auto_offset_reset="latest",
            consumer_max_fetch_size=RECORD_BYTES_MAX,
            datadir=str(membership.folder),
            value_serializer="raw",
            autodiscover=False,
            web_enabled=False,
            topic_allow_declare=False,
            topic_disable_leader=True,
            stream_wait_empty=False,
            store="memory://",
            TableManager=_NoTables,
        )
        app.transport = Transport(app.conf.broker_consumer, app)
        app.transport.member_id = self._member.id
        app.transport.rack = self._topic.security.get(RACK)
        topic = app.topic(self._topic.name, value_type=bytes, value_serializer="raw")

        async def fold(stream: Any) -> None:
            await self._pass_on(stream.events())

        app.agent(topic, name="fold")(fold)
        app.on_partitions_revoked.connect(self._revoked, weak=False)
        app.on_partitions_assigned.connect(self._shared_out, weak=False)  # type: ignore[arg-type]
        return app

    async def _pass_on(self, events: AsyncIterator[Any]) -> None:
        async for event in events:
            for where, fetched in event.value.items():
                records = [
                    LiveRecord(message.offset, message.value or b"", message.timestamp)
                    for message in fetched
                ]
                self._offer(where.partition, records)
            # Iterating over a full buffer never yields to other tasks.
            await asyncio.sleep(0)

    async def _revoked(self, *_: Any, **__: Any) -> None:
        self._unsettled()

    async def _shared_out(self, app: faust.App, assigned: Iterable[TP], **__: Any) -> None:
        consumer: Any = app.consumer
        self._member.keep(consumer.member_id)
        self._assigned(frozenset(tp.partition for tp in assigned if tp.topic == self._topic.name))

    async def _stop(self, app: faust.App) -> None:
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await app.stop()
        except Exception as error:
            log.warning("the live consumer failed to stop", why=repr(error))
        finally:
            transport: Any = app.transport
            transport.close_unused_loop()
