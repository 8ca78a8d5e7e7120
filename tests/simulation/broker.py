"""Simulated brokers: topics with partitions, and what reaches them late, twice or never."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, NamedTuple

from tests.simulation.scheduler import Process, Scheduler

Headers = list[tuple[str, str | bytes | None]]
FETCH_S: Final = (0.000_5, 0.006)
"""How long a record takes from the brokers to a consumer."""
SEND_S: Final = (0.000_5, 0.008)


class BrokerRecord(NamedTuple):
    value: bytes
    headers: Headers
    readable_s: float
    """When it has reached consumers."""
    written_ms: int


class Partition:
    """The records of a partition, in order."""

    def __init__(self) -> None:
        self.first = 0
        self.records: list[BrokerRecord] = []
        self.stuck_until = 0.0
        """Until then it has no leader."""
        self.readers: dict[Callable[[float], None], None] = {}
        """They are told when a record will be readable."""

    @property
    def end(self) -> int:
        return self.first + len(self.records)

    def readable(self, offset: int, most: int, now: float) -> list[tuple[int, BrokerRecord]]:
        """Records from an offset on that have reached consumers by now."""
        start = max(offset, self.first) - self.first
        readable: list[tuple[int, BrokerRecord]] = []
        for place in range(start, min(start + most, len(self.records))):
            record = self.records[place]
            if record.readable_s > now:
                break
            readable.append((self.first + place, record))
        return readable

    def next_readable_s(self, offset: int) -> float | None:
        """When the record at an offset is readable; None if there is none."""
        place = max(offset, self.first) - self.first
        return self.records[place].readable_s if place < len(self.records) else None

    def lose(self, count: int) -> None:
        """A replica leads that lacks the newest records, although they were acknowledged."""
        del self.records[max(0, len(self.records) - count) :]

    def forget(self, before: int) -> None:
        """Retention deletes the oldest records."""
        count = min(max(0, before - self.first), len(self.records))
        del self.records[:count]
        self.first += count


class TopicLog:
    def __init__(self, name: str, id_: str, partitions: int) -> None:
        self.name = name
        self.id = id_
        self.partitions = [Partition() for _ in range(partitions)]


class Brokers:
    """All topics. While they are down, nobody reaches them."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.topics: dict[str, TopicLog] = {}
        self.groups: dict[str, Group] = {}
        self._created = 0
        self.down_until = 0.0
        self.slow_until = 0.0
        self.on_arrival: Callable[[str, Process, Headers], None] | None = None
        """It is told of each record, and who sent it."""
        self._random = scheduler.random("brokers")

    @property
    def down(self) -> bool:
        return self.scheduler.now < self.down_until

    def create(self, name: str, partitions: int) -> bool:
        if name in self.topics:
            return False
        self._created += 1
        self.topics[name] = TopicLog(name, f"id-{self._created}-{name}", partitions)
        return True

    def create_anew(self, name: str) -> None:
        """Somebody deletes a topic, and creates it again."""
        old = self.topics.pop(name)
        self.create(name, len(old.partitions))
        for before, after in zip(old.partitions, self.topics[name].partitions, strict=True):
            after.readers = before.readers
        for group in self.groups.values():
            group.committed = {key: at for key, at in group.committed.items() if key[0] != name}

    def delay_s(self, limits: tuple[float, float]) -> float:
        """How long something is on its way; sometimes far longer than usual."""
        low, high = limits
        factor = 1.0
        if self.scheduler.now < self.slow_until:
            factor = 40.0
        elif self._random.random() < 0.01:
            factor = 20.0
        return self._random.uniform(low, high) * factor

    def append(self, topic: str, number: int, records: Iterable[tuple[bytes, Headers]]) -> None:
        partition = self.topics[topic].partitions[number]
        now = self.scheduler.now
        at_least = partition.records[-1].readable_s if partition.records else 0.0
        readable_s = max(at_least, now + self.delay_s(FETCH_S))
        written_ms = int((self.scheduler.epoch_s + now) * 1000)
        for value, headers in records:
            partition.records.append(BrokerRecord(value, headers, readable_s, written_ms))
        for tell in partition.readers:
            tell(readable_s)

    def group(self, name: str) -> "Group":
        if name not in self.groups:
            self.groups[name] = Group(self)
        return self.groups[name]


class GroupMember:
    """A member of a consumer group; the group calls `revoke`, then `assign`."""

    def __init__(
        self,
        name: str,
        topic: str,
        process: Process,
        revoke: Callable[[], None],
        assign: Callable[[frozenset[int]], None],
    ) -> None:
        self.name = name
        self.topic = topic
        self.process = process
        self.revoke = revoke
        self.assign = assign


class Group:
    """Shares out partitions, as the coordinator of a consumer group does.

    A member that isn't heard of for the time of a session is left out; it goes on believing what
    it did before until it is heard again.
    """

    SESSION_S: Final = 10.0
    HEARTBEAT_S: Final = (0.05, 0.6)

    def __init__(self, brokers: Brokers) -> None:
        self.members: list[GroupMember] = []
        self.committed: dict[tuple[str, int], int] = {}
        self.assigned: dict[str, frozenset[int]] = {}
        """By the members' names."""
        self.is_settling = False
        self._expelled: list[GroupMember] = []
        self._brokers = brokers
        self._scheduler = brokers.scheduler
        self._random = brokers.scheduler.random(f"group {len(brokers.groups)}")
        self._scheduler.after(1.0, self._look)

    def join(self, member: GroupMember) -> None:
        self.members = [m for m in self.members if m.name != member.name]
        self.members.append(member)
        self._rebalance()

    def leave(self, member: GroupMember) -> None:
        if member in self.members:
            self.members.remove(member)
            self._rebalance()

    def _rebalance(self) -> None:
        if self.is_settling:
            return
        self.is_settling = True
        for member in self.members:
            self._scheduler.after(self._random.uniform(*self.HEARTBEAT_S), member.revoke)
        self._scheduler.after(self.HEARTBEAT_S[1], self._share_out)

    def _share_out(self) -> None:
        now = self._scheduler.now
        silent = [m for m in self.members if m.process.heard_s < now]
        waits = any(now - m.process.heard_s < self.SESSION_S for m in silent)
        if self._brokers.down or waits:
            # The others wait for the silent ones until their sessions have ended.
            self._scheduler.after(1.0, self._share_out)
            return
        self.is_settling = False
        self.members = [m for m in self.members if m not in silent]
        self._expelled += [m for m in silent if m.process.alive]
        self.assigned = {}
        count = len(self._brokers.topics[self.members[0].topic].partitions) if self.members else 0
        start = self._random.randrange(max(1, len(self.members)))
        for place, member in enumerate(self.members):
            size = len(self.members)
            own = frozenset(n for n in range(count) if (n + start) % size == place)
            self.assigned[member.name] = own
            notice_s = self._random.uniform(*self.HEARTBEAT_S)
            self._scheduler.after(notice_s, partial(member.assign, own))

    def _look(self) -> None:
        """Notices who has been silent for too long, and who is back."""
        now = self._scheduler.now
        if any(now - m.process.heard_s >= self.SESSION_S for m in self.members):
            self._rebalance()
        for member in [m for m in self._expelled if m.process.heard_s == now]:
            self._expelled.remove(member)
            member.revoke()
            if all(m.name != member.name for m in self.members):
                self.join(member)
        self._scheduler.after(1.0, self._look)
