"""Stand-ins for librdkafka's clients, over simulated brokers.

They do what production relies on: a producer delivers the records of a partition in order or not at
all, whatever becomes of its process; an answer may come late; a consumer sees what has arrived.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, Final
from zlib import crc32

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin._listoffsets import EarliestSpec

from tests.simulation.broker import SEND_S, BrokerRecord, Brokers, GroupMember, Headers, TopicLog
from tests.simulation.scheduler import Process, Strand

_BATCH_RECORDS: Final = 100
_REQUEST_S: Final = (0.000_5, 0.004)
_COMMIT_S: Final = 5.0


def fault(code: int, text: str) -> KafkaException:
    return KafkaException(KafkaError(code, text))


class SimulatedProducer:
    """An idempotent producer: it sends one batch a partition at a time."""

    def __init__(self, brokers: Brokers, settings: Mapping[str, Any]) -> None:
        self._brokers = brokers
        self._process = brokers.scheduler.strand.process
        self._on_delivery = settings.get("on_delivery")
        self._most = settings.get("queue.buffering.max.messages", 100_000)
        self._queues: dict[tuple[str, int], deque[_Sent]] = {}
        self._sending: set[tuple[str, int]] = set()
        self._reports: deque[Callable[[], None]] = deque()
        self._count = 0
        self._closed = False
        self._flushing: dict[Strand, None] = {}

    def produce(
        self,
        topic: str,
        value: bytes,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Headers | None = None,
        on_delivery: Callable[[Any, Any], None] | None = None,
    ) -> None:
        if self._count >= self._most:
            raise BufferError("the queue is full")
        if partition is None:
            log = self._brokers.topics.get(topic)
            partition = crc32(key or b"") % (len(log.partitions) if log else 1)
        where = (topic, partition)
        self._queues.setdefault(where, deque()).append(_Sent(value, headers or [], on_delivery))
        self._count += 1
        self._send(where)

    def poll(self, timeout: float = 0) -> int:
        if not self._reports and timeout:
            self._brokers.scheduler.sleep(min(timeout, 0.01))
        reported = 0
        while self._reports:
            self._reports.popleft()()
            reported += 1
        return reported

    def flush(self, timeout: float = 60.0) -> int:
        if self._count and not self._closed:
            strand = self._brokers.scheduler.strand
            self._flushing[strand] = None
            try:
                strand.park(timeout)
            finally:
                self._flushing.pop(strand, None)
        self.poll(0)
        return self._count

    def purge(self) -> None:
        """Drops what hasn't been sent; what is on its way arrives."""
        for where, queue in self._queues.items():
            unsent = [] if where in self._sending else list(queue)
            if where in self._sending:
                unsent = list(queue)[_BATCH_RECORDS:]
            for _ in unsent:
                queue.pop()
                self._count -= 1

    def close(self) -> None:
        self._closed = True

    def __len__(self) -> int:
        return self._count + len(self._reports)

    def _send(self, where: tuple[str, int]) -> None:
        if where in self._sending or self._closed or not self._process.alive:
            return
        self._sending.add(where)
        scheduler = self._brokers.scheduler
        scheduler.after(self._brokers.delay_s(SEND_S), partial(self._arrive, where))

    def _arrive(self, where: tuple[str, int]) -> None:
        brokers, (topic, number) = self._brokers, where
        log = brokers.topics.get(topic)
        now = brokers.scheduler.now
        if brokers.down or log is None or now < log.partitions[number].stuck_until:
            if self._process.alive and not self._closed:
                brokers.scheduler.after(0.2, partial(self._arrive, where))
            return
        batch = list(self._queues[where])[:_BATCH_RECORDS]
        brokers.append(topic, number, [(sent.value, sent.headers) for sent in batch])
        for sent in batch:
            if brokers.on_arrival is not None:
                brokers.on_arrival(topic, self._process, sent.headers)
        brokers.scheduler.after(
            brokers.delay_s(_REQUEST_S), partial(self._acknowledge, where, len(batch))
        )

    def _acknowledge(self, where: tuple[str, int], count: int) -> None:
        if not self._process.alive:
            return
        queue = self._queues[where]
        for _ in range(min(count, len(queue))):
            sent = queue.popleft()
            self._count -= 1
            if sent.on_delivery is not None:
                self._reports.append(partial(sent.on_delivery, None, None))
        self._sending.discard(where)
        if queue:
            self._send(where)
        if not self._count:
            for strand in self._flushing:
                strand.wake()


class _Sent:
    __slots__ = ("headers", "on_delivery", "value")

    def __init__(
        self, value: bytes, headers: Headers, on_delivery: Callable[[Any, Any], None] | None
    ) -> None:
        self.value = value
        self.headers = headers
        self.on_delivery = on_delivery


class SimulatedMessage:
    """A record as consumers get it, the end of a partition, or a fault."""

    __slots__ = ("_error", "_offset", "_partition", "_record")

    def __init__(
        self,
        partition: int,
        offset: int,
        record: BrokerRecord | None,
        error: KafkaError | None = None,
    ) -> None:
        self._partition = partition
        self._offset = offset
        self._record = record
        self._error = error

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes | None:
        return None if self._record is None else self._record.value

    def headers(self) -> Headers | None:
        return None if self._record is None else self._record.headers

    def error(self) -> KafkaError | None:
        return self._error

    def timestamp(self) -> tuple[int, int]:
        return 1, 0 if self._record is None else self._record.written_ms


class SimulatedConsumer:
    """A consumer of assigned partitions, or a member of a group."""

    def __init__(self, brokers: Brokers, settings: Mapping[str, Any]) -> None:
        self._brokers = brokers
        self._process: Process = brokers.scheduler.strand.process
        self._says_end = bool(settings.get("enable.partition.eof"))
        self._resets = settings.get("auto.offset.reset") != "error"
        self._group_name = settings["group.id"]
        self._topic = ""
        self._next: dict[int, int] = {}
        self._stored: dict[int, int] = {}
        self._at_end: set[int] = set()
        self._waiting: Strand | None = None
        self._member: GroupMember | None = None
        self._committed_s = 0.0
        self._tell = self._hear

    def assign(self, places: Iterable[TopicPartition]) -> None:
        self.unassign()
        for place in places:
            self._topic = place.topic
            self._next[place.partition] = place.offset
            self._partition(place.partition).readers[self._tell] = None

    def unassign(self) -> None:
        for number in self._next:
            self._partition(number).readers.pop(self._tell, None)
        self._next.clear()
        self._stored.clear()
        self._at_end.clear()

    def assignment(self) -> list[int]:
        return list(self._next)

    def subscribe(self, topics: list[str]) -> None:
        [self._topic] = topics
        self._member = GroupMember(
            self._process.name, self._topic, self._process, lambda: None, self._share
        )
        self._brokers.group(self._group_name).join(self._member)

    def _share(self, partitions: frozenset[int]) -> None:
        if not self._process.alive:
            return
        self._commit()
        committed = self._brokers.group(self._group_name).committed
        self.assign(
            [
                TopicPartition(self._topic, number, committed.get((self._topic, number), 0))
                for number in sorted(partitions)
            ]
        )

    def store_offsets(self, offsets: Iterable[TopicPartition]) -> None:
        for place in offsets:
            if place.partition not in self._next:
                raise fault(KafkaError._STATE, "the partition isn't assigned")
            self._stored[place.partition] = place.offset

    def _commit(self) -> None:
        committed = self._brokers.group(self._group_name).committed
        for number, offset in self._stored.items():
            committed[self._topic, number] = offset
        self._committed_s = self._brokers.scheduler.now

    def poll(self, timeout: float = 0) -> SimulatedMessage | None:
        messages = self.consume(1, timeout)
        return messages[0] if messages else None

    def consume(self, num_messages: int = 1, timeout: float = 0) -> list[SimulatedMessage]:
        scheduler = self._brokers.scheduler
        if self._member is not None and scheduler.now - self._committed_s > _COMMIT_S:
            self._commit()
        messages = self._take(num_messages)
        deadline = self._process.monotonic() + timeout
        while not messages and timeout > 0:
            wait_s = deadline - self._process.monotonic()
            if wait_s <= 0:
                break
            readable_s = self._next_readable_s()
            if readable_s is not None:
                look_s = readable_s - scheduler.now
                # What could be read already can't be reached now.
                wait_s = min(wait_s, look_s + 0.000_01 if look_s >= 0 else 0.1)
            self._waiting = scheduler.strand
            self._waiting.park(wait_s)
            self._waiting = None
            messages = self._take(num_messages)
        return messages

    def get_watermark_offsets(
        self, where: TopicPartition, timeout: float | None = None
    ) -> tuple[int, int]:
        request(self._brokers)
        log = self._brokers.topics.get(where.topic)
        if log is None:
            raise fault(KafkaError.UNKNOWN_TOPIC_OR_PART, f"no topic {where.topic}")
        partition = log.partitions[where.partition]
        return partition.first, partition.end

    def close(self) -> None:
        if self._process.alive and self._member is not None:
            self._commit()
            self._brokers.group(self._group_name).leave(self._member)
        self.unassign()

    def _partition(self, number: int) -> Any:
        return self._brokers.topics[self._topic].partitions[number]

    def _take(self, most: int) -> list[SimulatedMessage]:
        brokers, messages = self._brokers, list[SimulatedMessage]()
        now = brokers.scheduler.now
        if brokers.down:
            return messages
        for number, offset in self._next.items():
            partition = self._partition(number)
            if now < partition.stuck_until or len(messages) >= most:
                continue
            if not partition.first <= offset <= partition.end:
                if not self._resets:
                    error = KafkaError(KafkaError._AUTO_OFFSET_RESET, "offset out of range")
                    messages.append(SimulatedMessage(number, offset, None, error))
                    continue
                offset = partition.first
            for at, record in partition.readable(offset, most - len(messages), now):
                messages.append(SimulatedMessage(number, at, record))
                offset = at + 1
                self._at_end.discard(number)
            self._next[number] = offset
            if self._says_end and offset >= partition.end and number not in self._at_end:
                self._at_end.add(number)
                error = KafkaError(KafkaError._PARTITION_EOF, "the end")
                messages.append(SimulatedMessage(number, offset, None, error))
        return messages

    def _next_readable_s(self) -> float | None:
        times = [
            at_s
            for number, offset in self._next.items()
            if (at_s := self._partition(number).next_readable_s(offset)) is not None
        ]
        return min(times, default=None)

    def _hear(self, readable_s: float) -> None:
        if self._waiting is not None:
            scheduler = self._brokers.scheduler
            scheduler.after(max(0.0, readable_s - scheduler.now), self._waiting.wake)


class _Answer:
    """A future that is done."""

    def __init__(self, value: Any = None, error: KafkaException | None = None) -> None:
        self._value = value
        self._error = error

    @property
    def failed(self) -> bool:
        return self._error is not None

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value


class SimulatedAdmin:
    """Requests about topics. Where they fail, their futures do, but for a list of topics."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers

    def create_topics(self, wanted: Iterable[Any], **_: Any) -> dict[str, _Answer]:
        return {topic.topic: self._answer(partial(self._create, topic)) for topic in wanted}

    def _create(self, topic: Any) -> None:
        if not self._brokers.create(topic.topic, topic.num_partitions):
            raise fault(KafkaError.TOPIC_ALREADY_EXISTS, "exists")

    def list_topics(self, topic: str | None = None, **_: Any) -> Any:
        request(self._brokers)
        topics = {
            name: SimpleNamespace(error=None, partitions=dict(enumerate(log.partitions)))
            for name, log in self._brokers.topics.items()
        }
        return SimpleNamespace(topics=topics)

    def describe_topics(self, collection: Any, **_: Any) -> dict[str, _Answer]:
        return {
            name: self._answer(partial(self._describe, name)) for name in collection.topic_names
        }

    def _describe(self, name: str) -> SimpleNamespace:
        log = self._topic(name)
        return SimpleNamespace(partitions=log.partitions, topic_id=log.id)

    def list_offsets(self, wanted: Mapping[TopicPartition, Any], **_: Any) -> dict[Any, _Answer]:
        wait = self._answer(lambda: None)
        return {
            where: wait if wait.failed else self._answer(partial(self._offset, where, spec), 0.0)
            for where, spec in wanted.items()
        }

    def _offset(self, where: TopicPartition, spec: Any) -> SimpleNamespace:
        partition = self._topic(where.topic).partitions[where.partition]
        is_first = isinstance(spec, EarliestSpec)
        return SimpleNamespace(offset=partition.first if is_first else partition.end)

    def _topic(self, name: str) -> TopicLog:
        log = self._brokers.topics.get(name)
        if log is None:
            raise fault(KafkaError.UNKNOWN_TOPIC_OR_PART, f"no topic {name}")
        return log

    def _answer(self, work: Callable[[], Any], time_s: float | None = None) -> _Answer:
        try:
            if time_s is None:
                request(self._brokers)
            return _Answer(work())
        except KafkaException as error:
            return _Answer(None, error)


def request(brokers: Brokers) -> None:
    """The time of a request and its answer; raises if the brokers are down."""
    brokers.scheduler.sleep(brokers.delay_s(_REQUEST_S))
    if brokers.down:
        brokers.scheduler.sleep(1.0)
        raise fault(KafkaError._TRANSPORT, "the brokers are down")
