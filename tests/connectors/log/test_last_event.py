"""The last event of the log, told in the same way whoever read it."""

from connectors.loads.batch import find_database
from connectors.log.last_event import LastEvent, read_event, read_last_event
from connectors.log.source import HASHED_CHARS_MAX, rows_hash
from connectors.log.sql_source import SqlSource
from hive.events.row import row_mark
from hive.reader.snapshot import open_snapshot
from tests.connectors.connector_runs import Log


def test_the_row_of_the_last_event_has_the_hash_by_which_connectors_know_it(log: Log) -> None:
    long = f'{{"txnid":{"7" * HASHED_CHARS_MAX}}}'
    log.write(1, 2, message=long)
    source = SqlSource(log.engine)
    [_, row] = source.poll(0, 2).rows
    expected = LastEvent(2, source.hashes([2])[2], row_mark(row))
    source.close()
    with open_snapshot(*find_database(log.engine)) as snapshot:
        assert read_last_event(snapshot) == expected
    assert LastEvent.of(2, [(row, len(row.message))]) == expected
    assert expected.hash == rows_hash([row])


def test_an_event_whose_row_was_cleaned_has_neither_hash_nor_mark(log: Log) -> None:
    log.write(1, 2)
    log.delete(1, 2)
    with open_snapshot(*find_database(log.engine)) as snapshot:
        assert read_last_event(snapshot) == LastEvent(2, None, 0)


def test_what_was_the_last_event_is_read_again_after_others(log: Log) -> None:
    log.write(1, 2)
    with open_snapshot(*find_database(log.engine)) as snapshot:
        before = read_last_event(snapshot)
    log.write(3)
    with open_snapshot(*find_database(log.engine)) as snapshot:
        assert read_event(snapshot, 2) == before
    log.delete(2, 2)
    log.write(2, message='{"txnid":8}')
    with open_snapshot(*find_database(log.engine)) as snapshot:
        assert read_event(snapshot, 2) != before
