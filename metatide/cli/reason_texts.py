"""What reasons of answers mean, in sentences."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from query_api.reasons import Reason
from state.loads import Cold, Doubt


class ReasonText(NamedTuple):
    """What a reason means, and what to do about it."""

    meaning: str
    remedy: str = "nothing: the answer is right, and was only slower"


REASONS: Final[Mapping[str, ReasonText]] = {
    Reason.FRESH: ReasonText("it holds everything that this read must see"),
    Reason.NEWER: ReasonText(
        "it holds all commits of the write-id list, and later ones, which were accepted"
    ),
    Reason.BEHIND: ReasonText(
        "something was committed that the cache hasn't folded yet",
        "nothing, if it lasts for milliseconds; else see whether a connector runs (metatide "
        "doctor) and how far the shards are (metatide status)",
    ),
    Reason.AHEAD: ReasonText(
        "the cache holds commits that the write-id list doesn't contain",
        "nothing, or send --accept-newer if newer data is acceptable",
    ),
    Reason.PENDING_WRITE: ReasonText(
        "a transaction has written to the table and hasn't ended",
        "nothing: it ends with the transaction (SHOW TRANSACTIONS in Hive lists it)",
    ),
    Reason.COLD: ReasonText(
        "the cache has no copy that it can trust",
        "nothing at first: this read has asked for a load, so ask again in a moment. If it stays "
        "cold, see whether a connector runs (metatide doctor)",
    ),
    Reason.TABLE_ID: ReasonText(
        "the table was dropped and created again, or has no write ids: the reader means another",
        "look the table up again",
    ),
    Reason.NO_LIST: ReasonText(
        "a check by write ids needs a list and a table id", "send both, or ask for latest"
    ),
    Reason.SILENT_LOG: ReasonText(
        "the metastore's log doesn't record all changes of this",
        "nothing, or ask for any if an older state is acceptable",
    ),
    Reason.GAP: ReasonText(
        "too many events lie between the cache and the current one, or some are missing",
        "wait until the cache has caught up (metatide status); if it doesn't, see what the "
        "connector says",
    ),
    Reason.REWOUND: ReasonText(
        "the database is older than the cache, or has another history",
        "see that a connector runs and that database.url names the primary: a new epoch begins",
    ),
    Reason.UNREAD: ReasonText(
        "the database didn't say in time which event is the last",
        "see whether the database answers (metatide doctor)",
    ),
    Reason.DATABASE_ONLY: ReasonText("this is never kept in the cache"),
    Reason.EXCLUDED: ReasonText(
        "the whitelist or the blacklist leaves the table out",
        "metatide admin show prints the lists, metatide admin lists sets them",
    ),
    Reason.PAUSED: ReasonText("an operator has paused the cache", "metatide admin resume"),
    Reason.NOT_OWNED: ReasonText(
        "the worker that holds the shard didn't answer, or none holds it",
        "see which workers run (metatide status), and whether they reach each other",
    ),
    Reason.STORE_ERROR: ReasonText(
        "the store of the shard can't be read",
        "nothing: it is rebuilt; if that fails, the worker's log says why",
    ),
}

COLD: Final[Mapping[str, str]] = {
    Cold.NEVER_LOADED: "nobody has asked for it yet",
    Cold.LOADING: "it is being loaded now",
    Cold.AHEAD: "its load is newer than what is folded",
    Cold.BROKEN_CHAIN: "events of its whole shard are missing",
    Cold.DOUBT: "an event changed more than it says",
    Doubt.DROPPED: "it was dropped while it was loaded",
    Doubt.REWRITTEN: "an event rewrote partitions or statistics without saying how",
    Doubt.RENAMED: "it was renamed",
    Doubt.TRUNCATED: "it was truncated",
    Doubt.ENGINE_UNSAID: "statistics of an engine that isn't named were deleted",
    Doubt.MERGED: "statistics were merged with unknown ones",
    Doubt.CONFLICT: "two writers changed it at the same time",
    Doubt.UNDECODABLE: "an event about it can't be read",
    Doubt.RESET: "an operator had it forgotten",
    Doubt.VOID_LOAD: "its load was incomplete",
}
"""What the words of docs/state.md mean, the last of which an answer's detail ends with."""


def why_cold(detail: str) -> str:
    """The meaning of a detail such as `never_loaded` or `doubt: renamed`."""
    return COLD.get(detail.rpartition(": ")[2], detail)
