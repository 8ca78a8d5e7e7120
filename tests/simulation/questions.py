"""What clients ask, and what they got."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from hive.errors import InputError, NoSuchObjectError
from hive.names import TableName
from query_api.consistency import Consistency
from query_api.positions import Position
from query_api.reads.databases import GetDatabase
from query_api.reads.partitions import GetPartition, ListPartitions
from query_api.reads.read import Read, Slice
from query_api.reads.tables import GetTable, ListTables
from query_api.reasons import Reason, Source
from query_api.requirement import Requirement
from state.shard_reader import NameLine
from tests.simulation.content import KEY, ContentObjects
from tests.simulation.database import Database, Moment
from tests.simulation.writes import DBS, PARTITIONS, TABLES

AGE_MS: Final = 100


class Question(NamedTuple):
    read: Read[Any]
    requirement: Requirement
    asked: Moment
    """What the client may know: the database when it asked."""
    answer: Callable[[Any], Any] | None = None
    """What the objects of a moment give as the answer; by default what the read does."""

    def truth(self, moment: Moment) -> Any:
        """What the database would have answered at a moment."""
        objects: Any = ContentObjects(moment.content, moment.event)
        try:
            return plain((self.answer or self.read.answer)(objects))
        except NoSuchObjectError as missing:
            return plain(missing)
        except InputError:
            return "the question makes no sense"


class Answered(NamedTuple):
    """An answer, and when it was asked for and given. Thrift tells nothing but the value."""

    question: Question
    value: Any
    began_s: float
    ended_s: float
    source: Source | None = None
    reason: Reason | None = None
    position: Position | None = None
    detail: str = ""
    wrote_at: int = 0
    """The number of the moment from which on the database has what was written before, through
    the same connection."""


def question(
    database: Database,
    name: str,
    numbers: tuple[int, ...],
    reached: Position,
    about: TableName | None = None,
) -> Question:
    """A random question with this consistency; `reached` is what its session has seen."""
    now = database.now
    kind, place, value, wait, *_ = numbers
    there = list(now.content.tables)
    table = about or (there * 3 + list(TABLES))[place % (3 * len(there) + len(TABLES))]
    reads: list[Read[Any]] = [
        GetTable(table),
        GetTable(table),
        ListPartitions(table),
        ListPartitions(table),
        GetPartition(table, (KEY,), PARTITIONS[value % len(PARTITIONS)]),
        ListTables(DBS[value % len(DBS)]),
        GetDatabase(DBS[value % len(DBS)]),
    ]
    read = reads[kind % len(reads)]
    requirement = Requirement(Consistency(name), must_be_current=False)
    match name:
        case "latest":
            wait_ms = (None, None, 0, 300)[wait % 4]
            requirement = Requirement(Consistency.LATEST, max_wait_ms=wait_ms)
        case "within":
            requirement = Requirement(Consistency.WITHIN, must_be_current=True, max_age_ms=AGE_MS)
        case "at_least":
            least = (Position(reached.epoch, now.event), reached)[wait % 2]
            requirement = Requirement(
                Consistency.AT_LEAST, must_be_current=False, min_position=least
            )
        case "write_ids":
            current = now.content.tables.get(table)
            if current is not None and current.row.managed:
                read = reads[kind % 5]
                requirement = Requirement(
                    Consistency.WRITE_IDS,
                    must_be_current=False,
                    write_ids=now.valid_ids(table),
                    table_id=current.row.id,
                    accept_newer=bool(wait % 2),
                )
            else:
                requirement = Requirement(Consistency.LATEST)
    return Question(read, requirement, now)


def plain(value: Any) -> Any:
    """An answer as values that can be compared, without the events of lines in lists."""
    if isinstance(value, NoSuchObjectError):
        return "there is none"
    if isinstance(value, Slice):
        return [plain(item) for item in value.items]
    if isinstance(value, NameLine):
        return value._replace(event=0)
    return value
