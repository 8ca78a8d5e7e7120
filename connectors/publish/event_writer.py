"""Writes events of the log to the topic, as what they mean to each table."""

from collections import Counter
from itertools import chain

import structlog

from connectors.log.listener import ListenerWatch
from connectors.log.source import Source
from connectors.metrics import Fault, Metrics
from connectors.publish.publisher import Publisher
from connectors.publish.renames import Renames
from connectors.publish.routing import route
from connectors.publish.transaction_tables import TransactionTables
from connectors.publish.translate import Addressed, touched
from hive.errors import EventError, UnwritableRecordError
from hive.events.column_limits import decode_as_stored
from hive.events.event_types import OtherEvent
from hive.events.row import NotificationRow

log = structlog.get_logger()


class EventWriter:
    """Decodes events in the order of the log, and sets aside those that can't be read."""

    def __init__(
        self, source: Source, publisher: Publisher, listener: ListenerWatch, metrics: Metrics
    ) -> None:
        self._source = source
        self._publisher = publisher
        self._listener = listener
        self._metrics = metrics
        self._renames: Renames | None = None
        self._transactions = TransactionTables()

    def write(self, event_id: int, rows: list[NotificationRow], row_hash: bytes, mark: int) -> None:
        """Writes the event of these rows, one but for a broken log, to each shard that lacks it."""
        if len(rows) > 1:
            self._metrics.failed(Fault.LISTENER)
            log.warning(
                "an event id occurs more than once; all its rows were published",
                event_id=event_id,
                remedy="upgrade metastores older than Hive 3.0, and let Hive's schematool make "
                "the unique index NOTIFICATION_LOG_EVENT_ID",
            )
        addressed = self._meaning_of_all(rows) if len(rows) > 1 else self._meaning(rows[0])
        types, shards = rows[0].event_type, self._publisher.shards
        why = "its record would be larger than the topic allows"
        try:
            routed = route(addressed, shards)
            taken = self._publisher.event(event_id, types, row_hash, mark, routed)
        except UnwritableRecordError as error:
            taken, why = False, str(error)
        if not taken:
            for row in rows:
                self._set_aside(row, why)
            renames = self._renames_before(event_id)
            addressed = [address for row in rows for address in renames.undecodable(row)]
            routed = route(addressed, shards)
            taken = self._publisher.event(event_id, types, row_hash, mark, routed)
            assert taken, "to say that an event can't be read takes a few bytes"

    def miss(self) -> None:
        """Notes that events are missing before the next one."""
        self._transactions.forget()
        self._listener.miss()

    def _meaning_of_all(self, rows: list[NotificationRow]) -> list[Addressed]:
        """The effects of the rows of one id. In which order they were written isn't known, so those
        that concern the same table or database count as rows that can't be read."""
        renames = self._renames_before(rows[0].event_id)
        meanings = [self._meaning(row) for row in rows]
        names_touched = [touched(meaning) for meaning in meanings]
        times_touched = Counter(chain.from_iterable(names_touched))
        addressed: list[Addressed] = []
        for row, meaning, names in zip(rows, meanings, names_touched, strict=True):
            is_alone = all(times_touched[name] == 1 for name in names)
            addressed += meaning if is_alone else renames.undecodable(row)
        return addressed

    def _meaning(self, row: NotificationRow) -> list[Addressed]:
        renames = self._renames or self._renames_before(row.event_id)
        try:
            event = decode_as_stored(row, self._source.column_limits())
        except EventError as error:
            self._set_aside(row, str(error))
            self._transactions.forget()
            if row.event_type == "OPEN_TXN":
                self._listener.miss()
            return renames.undecodable(row)
        if isinstance(event, OtherEvent) and not event.harmless:
            self._set_aside(row, "no event of this type is known, so it may have touched anything")
        self._listener.see(event)
        return self._transactions.address(event, renames.address(event))

    def _renames_before(self, event_id: int) -> Renames:
        if self._renames is None:
            self._renames = Renames(self._source.alters(event_id - 1))
        return self._renames

    def _set_aside(self, row: NotificationRow, why: str) -> None:
        self._metrics.failed(Fault.UNDECODABLE)
        log.error(
            "an event was set aside; what it touched is answered by the database until it is "
            "loaded again",
            event_id=row.event_id,
            event_type=row.event_type,
            why=why,
        )
        self._publisher.dead_letter(row)
