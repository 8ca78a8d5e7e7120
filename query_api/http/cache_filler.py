"""Puts answers into the cache from which equal requests are answered."""

from starlette.types import Scope

from query_api.http.messages import Headers, header
from query_api.http.metrics import Metrics
from query_api.http.requirement_headers import REQUIREMENTS, required_by_headers
from query_api.http.response_cache import CONSISTENCY, CachedResponse, ResponseCache
from query_api.owner_moment import AnyMoment
from query_api.reasons import Reason
from query_api.requirement import Requirement


class CacheFiller:
    """Fills a cache of responses, whose uses are counted as answers."""

    def __init__(self, cache: ResponseCache, metrics: Metrics) -> None:
        self._cache = cache
        self._metrics = metrics

    def put(
        self,
        scope: Scope,
        id_: str,
        moment: AnyMoment,
        max_age_ms: int | None,
        reason: Reason,
        body: bytes,
        headers: Headers,
    ) -> None:
        """Caches an answer; the log must confirm it each time, unless `max_age_ms` is None."""
        key = scope["path"], scope["query_string"], header(scope, CONSISTENCY) or b""
        if not self._cache.admits(key):
            return
        count = self._metrics.counter_of_cached(reason, id_)
        to_confirm = () if max_age_ms is None else moment.targets
        cached = CachedResponse.of(key, moment, to_confirm, max_age_ms or 0, body, headers, count)
        self._cache.put(key, cached)


def may_be_cached(scope: Scope, requirement: Requirement) -> bool:
    """Whether the answer may be cached for equal requests. Not if a minimum position is required,
    because positions aren't checked again.
    """
    by_consistency = required_by_headers(scope).keys() <= {REQUIREMENTS[CONSISTENCY]}
    is_get = scope["method"] == "GET"
    return is_get and by_consistency and requirement.min_position is None
