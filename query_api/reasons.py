"""The source of an answer, and the reason for it."""

from enum import StrEnum


class Source(StrEnum):
    """Who answered."""

    CACHE = "cache"
    DATABASE = "database"


class Reason(StrEnum):
    """Why the cache answered or did not. This list is complete."""

    FRESH = "fresh"
    """It is as new as was asked for."""
    NEWER = "newer"
    """It contains all commits of the caller's write-id list, and more, which was allowed."""

    BEHIND = "behind"
    """The cache hasn't seen all that was asked for."""
    AHEAD = "ahead"
    """The cache contains commits that the caller's write-id list doesn't."""
    PENDING_WRITE = "pending_write"
    """It contains a write of a transaction that hasn't ended."""
    COLD = "cold"
    """It isn't known, or was cast into doubt; a load has been asked for."""
    TABLE_ID = "table_id"
    """The cached table is another one of the same name."""
    NO_LIST = "no_list"
    """The write-id check was asked for, but the request brought no list and id to check."""
    SILENT_LOG = "silent_log"
    """The log doesn't tell all changes of this object."""
    GAP = "gap"
    """The events since can't be told one by one: too many, or some are missing."""
    REWOUND = "rewound"
    """The database is older than the cache, or has another history."""
    UNREAD = "unread"
    """The current event id couldn't be read from the database."""
    DATABASE_ONLY = "database_only"
    """Only the database can tell this."""
    EXCLUDED = "excluded"
    """The table is on the blacklist, or not on the whitelist."""
    PAUSED = "paused"
    """An operator told the cache not to answer."""
    NOT_OWNED = "not_owned"
    """Another worker holds the shard, and could not answer."""
    STORE_ERROR = "store_error"
    """The shard's store can't be read."""


SERVING = frozenset((Reason.FRESH, Reason.NEWER))
"""The reasons of an answer from the cache."""
