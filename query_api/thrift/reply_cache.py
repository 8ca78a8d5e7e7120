"""Results that are cached as replies.

A call is looked up by its bytes, so a repeated one needn't be scanned.
"""

from collections.abc import Callable
from typing import Final

from query_api.answer_cache import AnswerCache, CachedAnswer
from query_api.owner_moment import AnyMoment
from query_api.reasons import Reason
from query_api.shards import Views
from query_api.targets import Target
from query_api.thrift.metrics import MethodFigures

BYTES_MAX: Final = 128 * 1024 * 1024
RESULT_BYTES_MAX: Final = 1024 * 1024
_OVERHEAD_BYTES: Final = 500


class CachedReply(CachedAnswer):
    """A result struct, and the metrics to update when it is sent."""

    reason: Reason
    figures: MethodFigures


ReplyCache = AnswerCache[bytes, CachedReply]
"""Replies by the bytes of their calls without the sequence number."""


def reply_cache(views: Views, is_rewound: Callable[[int], bool]) -> ReplyCache:
    return ReplyCache(views, is_rewound, bytes_max=BYTES_MAX, body_bytes_max=RESULT_BYTES_MAX)


def cached_reply(
    call: bytes,
    moment: AnyMoment,
    to_confirm: tuple[Target, ...],
    max_age_ms: int,
    reason: Reason,
    result: bytes,
    figures: MethodFigures,
) -> CachedReply:
    size = len(call) + len(result) + _OVERHEAD_BYTES
    return CachedReply(moment, to_confirm, max_age_ms, result, size, reason, figures)
