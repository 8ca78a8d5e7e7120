"""The fast path for reads that take any state of the cache.

Between two commits of a shard, all such reads of a table's objects are answered on the same
grounds, so the targets are judged for the first of them alone.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from hive.errors import NoSuchObjectError
from query_api.cached_objects import TableObjects
from query_api.hot_tables import SharedReader
from query_api.positions import Position
from query_api.reads.read import Group, Read
from query_api.reasons import Reason, Source
from query_api.resolver.answer import ReadAnswer
from query_api.resolver.judgement import Judgement
from query_api.resolver.shard_facts import cached_facts
from query_api.shards import Moment, Views
from query_api.targets import Target, TargetKind

A = TypeVar("A")
GROUPS_MAX = 4096


class Grounds(NamedTuple):
    """What the reads of a group share until the next commit."""

    objects: TableObjects
    position: Position
    moment: Moment


class PlainReads:
    """Remembers the grounds of groups in the reader whose state they were judged in."""

    def __init__(self, views: Views, is_rewound: Callable[[int], bool]) -> None:
        self._views = views
        self._is_rewound = is_rewound

    def answer(self, read: Read[A]) -> ReadAnswer[A] | None:
        """The answer; None if the read's targets must be judged."""
        group = read.group
        if group is None:
            return None
        reader = self._views.reader(self._views.shard_of_table(group.table))
        if not isinstance(reader, SharedReader):
            return None
        grounds: Grounds | None = reader.grounds.get(group)
        if grounds is None or self._is_rewound(grounds.position.epoch):
            return None
        value: A | NoSuchObjectError
        try:
            value = read.answer(grounds.objects)
        except NoSuchObjectError as missing:
            value = missing
        return ReadAnswer(
            value, Source.CACHE, Reason.FRESH, grounds.position, moment=grounds.moment
        )

    def remember(self, read: Read[A], judged: Sequence[Judgement], answer: ReadAnswer[A]) -> None:
        """Remembers the grounds of an answer to a read that takes any state."""
        group, moment, reader = read.group, answer.moment, judged[0].reader
        if group is None or moment is None or not isinstance(reader, SharedReader):
            return
        if not all(_holds_for_all(judgement, group, reader) for judgement in judged):
            return
        objects = TableObjects(group.table, reader)
        if objects.table(group.table) is None:
            # Other reads of the group may ask about the database of a missing table, too.
            return
        if len(reader.grounds) >= GROUPS_MAX:
            reader.grounds.clear()
        whole = moment._replace(targets=(Target(TargetKind.TABLE, group.table),))
        reader.grounds[group] = Grounds(objects, answer.position, whole)


def _holds_for_all(judgement: Judgement, group: Group, reader: SharedReader) -> bool:
    """Whether a target would be judged alike in each read of a group."""
    target = judgement.target
    if not target.is_of_table:
        return False
    assert target.name == group.table, f"{target} is of another table than {group}"
    assert target.kind in (TargetKind.TABLE, group.kind), f"{target} is not in {group}"
    if judgement.verdict.reason is not Reason.FRESH or judgement.by_list is not None:
        return False
    if target.kind is not TargetKind.PARTITION:
        return True
    # If all partitions may be served, so may each of them, and each that doesn't exist.
    return cached_facts(reader, Target(TargetKind.PARTITIONS, target.name)).refused is None
