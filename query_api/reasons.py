"""The source of an answer, and the reason for it."""

from enum import StrEnum


class Source(StrEnum):
    """Who answered."""

    CACHE = "cache"
    DATABASE = "database"


class Reason(StrEnum):
    """Why the cache answered or did not. This list is complete."""

    FRESH = "fresh"
    """The cache is as new as required."""
    NEWER = "newer"
    """The cache contains all commits of the caller's write-id list and more, as allowed."""

    BEHIND = "behind"
    """The cache hasn't seen all events that the requirement includes."""
    AHEAD = "ahead"
    """The cache contains commits that the caller's write-id list doesn't."""
    PENDING_WRITE = "pending_write"
    """The cache contains a write of a transaction that hasn't ended."""
    COLD = "cold"
    """The object isn't known, or became uncertain; a load was requested."""
    TABLE_ID = "table_id"
    """The cached table is a different one with the same name, or has no write ids."""
    NO_LIST = "no_list"
    """The write-id check was requested without a list and an id to check."""
    SILENT_LOG = "silent_log"
    """The log doesn't record all changes of this object."""
    GAP = "gap"
    """The newer events can't be examined one by one: they are too many, or some are missing."""
    REWOUND = "rewound"
    """The database is older than the cache, or has another history; or the shard hasn't begun the
    epoch of the topic."""
    UNREAD = "unread"
    """The current event id, or what only the database knows, couldn't be read from the database."""
    DATABASE_ONLY = "database_only"
    """Only the database can answer this."""
    EXCLUDED = "excluded"
    """The table is on the blacklist, or not on the whitelist."""
    PAUSED = "paused"
    """An operator paused the cache."""
    NOT_OWNED = "not_owned"
    """Another worker holds the shard, and could not answer."""
    STORE_ERROR = "store_error"
    """The shard's store can't be read."""


SERVING = frozenset((Reason.FRESH, Reason.NEWER))
"""The reasons for answers from the cache."""
