"""Tells which events the shards haven't seen yet, with one database read for all who wait."""

from query_api.latest.log_end import LogEnd, ThinRow
from query_api.latest.recent_reads import RecentReads
from query_api.latest.sequence import read_tail
from query_api.latest.sequence_reader import SequenceReader, sequence_reader
from query_api.latest.shared_read import SharedRead

__all__ = [
    "LogEnd",
    "RecentReads",
    "SequenceReader",
    "SharedRead",
    "ThinRow",
    "read_tail",
    "sequence_reader",
]
