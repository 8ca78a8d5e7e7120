"""What reasons of answers mean, in words: for the command line, the page, and docs/alerts.md."""

from collections.abc import Mapping
from typing import Final

import msgspec

from query_api.reasons import Reason
from state.loads import Cold, Doubt


class ReasonText(msgspec.Struct, frozen=True):
    """What a reason means, and what to do about it. Backticks enclose code, as in Markdown."""

    short: str
    """A few words, which follow "answered by the database"."""
    meaning: str
    """A clause, which follows "because"."""
    remedy: str = "nothing: the answer is right, and was only slower"


REASONS: Final[Mapping[str, ReasonText]] = {
    Reason.FRESH: ReasonText(
        "as new as was asked for", "the cache holds everything that this read must see", "nothing"
    ),
    Reason.NEWER: ReasonText(
        "newer than asked for",
        "the cache holds all commits of the write-id list, and later ones, which were accepted",
        "nothing",
    ),
    Reason.BEHIND: ReasonText(
        "not folded yet",
        "the cache hasn't folded all events that this read must see",
        "nothing, if it lasts for milliseconds; else see whether a connector runs "
        "(`metatide doctor`) and how far the shards are (`metatide status`), or ask for `any` if "
        "an older state is acceptable",
    ),
    Reason.AHEAD: ReasonText(
        "newer than this reader may see",
        "the cache holds commits that the write-id list doesn't contain",
        "nothing, or send `accept_newer` if newer data is acceptable; long transactions that read "
        "busy tables see this always",
    ),
    Reason.PENDING_WRITE: ReasonText(
        "a write is under way",
        "a transaction has written to the table and hasn't ended",
        "nothing: it ends with the transaction; if it lasts, look for one that hangs (`SHOW "
        "TRANSACTIONS` in Hive). Streaming writers always keep one open",
    ),
    Reason.COLD: ReasonText(
        "not in the cache",
        "the cache has no copy that it can trust",
        "nothing at first: this read has asked for a load, so ask again in a moment. It can also "
        "be warmed by order (`metatide admin warm`, or under Tables on the page), and many tables "
        "at once by `metatide prewarm`. If it stays cold, see whether a connector runs "
        "(`metatide doctor`)",
    ),
    Reason.TABLE_ID: ReasonText(
        "another table of this name",
        "the table was dropped and created again, and the reader means another one than the "
        "cache; or it has no write ids, and the reader sent a list of them",
        "look the table up again; if the cache holds the older one, it follows in a moment",
    ),
    Reason.NO_LIST: ReasonText(
        "nothing to check by",
        "a check by write ids was requested without a list and a table id",
        "send both, or ask for `latest`",
    ),
    Reason.SILENT_LOG: ReasonText(
        "the log is silent about it",
        "the metastore's log doesn't record all changes of this",
        "nothing, or ask for `any` if an older state is acceptable",
    ),
    Reason.GAP: ReasonText(
        "too many events, or a hole in them",
        "more than 1,000 events lie between the cache and the current one, or some are missing",
        "wait until the cache has caught up (`metatide status`); if it doesn't, see what the "
        "connector says (`metatide doctor`)",
    ),
    Reason.REWOUND: ReasonText(
        "the database has another history",
        "the database is older than the cache, or has another history; or a new epoch has begun "
        "that the shard or its image hasn't",
        "see that a connector runs and that `database.url` names the primary: a new epoch begins; "
        "for `metatide serve`, make new images",
    ),
    Reason.UNREAD: ReasonText(
        "the database didn't answer",
        "the current event, or what only the database knows, couldn't be read from the database",
        "see whether the database answers (`metatide doctor`)",
    ),
    Reason.DATABASE_ONLY: ReasonText(
        "only the database knows", "only the database can answer this"
    ),
    Reason.EXCLUDED: ReasonText(
        "kept out of the cache",
        "the whitelist or the blacklist leaves the table out",
        "nothing, unless it should be cached: `metatide admin show` prints the lists, `metatide "
        "admin lists` sets them",
    ),
    Reason.PAUSED: ReasonText(
        "serving is paused",
        "an operator has paused the cache",
        "resume serving when the pause is no longer needed (`metatide admin resume`, or under "
        "Health on the page)",
    ),
    Reason.NOT_OWNED: ReasonText(
        "its worker didn't answer",
        "the shard's owner didn't answer, or it has none",
        "see which workers run (`metatide status`), and whether they reach each other at the "
        "addresses that it prints",
    ),
    Reason.STORE_ERROR: ReasonText(
        "the store can't be read",
        "the store of the shard can't be read",
        "nothing: it is set aside and rebuilt; if this lasts, the worker's log says why",
    ),
}

COLD: Final[Mapping[str, str]] = {
    Cold.NEVER_LOADED: "it hasn't been loaded yet",
    Cold.LOADING: "it is being loaded now",
    Cold.AHEAD: "its load is newer than the events that are folded",
    Cold.DOUBT: "an event changed more than it says",
    Cold.BROKEN_CHAIN: "events of its whole shard are missing",
    Doubt.DROPPED: "it was dropped while it was being loaded",
    Doubt.REWRITTEN: "an event may have rewritten partitions or statistics without saying how",
    Doubt.RENAMED: "a table was renamed to this name",
    Doubt.TRUNCATED: "it was truncated, which may have changed statistics",
    Doubt.ENGINE_UNSAID: "statistics were deleted, and the log doesn't say of which engine",
    Doubt.MERGED: "new statistics may have left fields of older ones in place",
    Doubt.CONFLICT: "two writers changed it at the same time, or an event doesn't show what was "
    "stored",
    Doubt.UNDECODABLE: "an event about it can't be read; the connector's log names it",
    Doubt.RESET: "an operator had it refreshed or dropped from the cache",
    Doubt.VOID_LOAD: "its load was incomplete, was overtaken by too many events, or had read an "
    "older state than was known",
}
"""Why something is cold, by the last word of an answer's detail."""


def text_of(reason: str) -> ReasonText:
    """The text of a reason; one that only newer servers know stands for itself."""
    return REASONS.get(reason, ReasonText(reason, reason))


def why_cold(detail: str) -> str:
    """The meaning of a detail such as `never_loaded` or `doubt: renamed`."""
    return COLD.get(detail.rpartition(": ")[2], detail)
