"""The reasons of answers as tables in docs/: the words of `query_api/reason_texts.py`, and where to
read on."""

from collections.abc import Iterator, Mapping
from typing import Final

from query_api.reason_texts import COLD, REASONS
from query_api.reasons import Reason
from state.loads import Cold, Doubt

_SEE: Final[Mapping[str, str]] = {
    Reason.BEHIND: "[EventsLate](#metatideeventslate) and [ShardLag](#metatideshardlag)",
    Reason.COLD: "[StaysCold](#metatidestayscold) and "
    "[why it is cold](state.md#why-something-is-cold)",
    Reason.SILENT_LOG: "[what the log doesn't record](promises.md#what-the-log-doesnt-record)",
    Reason.GAP: "[EventsLate](#metatideeventslate)",
    Reason.REWOUND: "[OtherHistory](#metatideotherhistory) and [Rewound](#metatiderewound)",
    Reason.UNREAD: "[DatabaseFails](#metatidedatabasefails)",
    Reason.DATABASE_ONLY: "[what the log doesn't record](promises.md#what-the-log-doesnt-record)",
}
_WARMED_BY: Final[Mapping[str, str]] = {
    Cold.LOADING: "the End of the load; or a new load, asked for after this one has brought "
    "nothing for 5 minutes",
    Cold.AHEAD: "the next events",
    Doubt.CONFLICT: "a reread of the object, or a load",
    Doubt.RESET: "a load; after a drop, when somebody reads it",
}


def reason_rows() -> Iterator[tuple[str, str, str]]:
    """Each reason: what it means, and what to do."""
    for reason, text in REASONS.items():
        see = f". See {_SEE[reason]}" if reason in _SEE else ""
        yield f"`{reason}`", text.meaning, text.remedy + see


def cold_rows() -> Iterator[tuple[str, str, str]]:
    """Each word for why something is cold: what it means, and what warms it."""
    for word, meaning in COLD.items():
        yield f"`{word}`", meaning, _WARMED_BY.get(word, "a load")
