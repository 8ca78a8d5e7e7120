"""Tells which events the shards haven't seen yet, with one database read for all who wait."""

from query_api.latest.latest_index import LatestIndex
from query_api.latest.latest_log import LatestLog, ThinRow
from query_api.latest.sequence import SequenceReader, read_tail

__all__ = ["LatestIndex", "LatestLog", "SequenceReader", "ThinRow", "read_tail"]
