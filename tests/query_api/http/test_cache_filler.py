"""Which answers are cached, and as what."""

import pytest
from starlette.types import Scope

from query_api.consistency import Consistency
from query_api.http.cache_filler import CacheFiller, may_be_cached
from query_api.http.metrics import Metrics
from query_api.http.response_cache import ResponseCache
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.requirement import Requirement
from query_api.shards import Views
from tests.query_api.shards import MemoryShard, MemoryShards, moment

CONSISTENCY = (b"metatide-consistency", b"any")
MIN_POSITION = (b"metatide-min-position", b"0:7")
POSITION = [(b"metatide-position", b"0:0")]


def request(*headers: tuple[bytes, bytes], method: str = "GET") -> Scope:
    return {"method": method, "path": "/p", "query_string": b"q", "headers": list(headers)}


@pytest.mark.parametrize(
    ("scope", "requirement", "may_be"),
    [
        (request(), Requirement(), True),
        (request(CONSISTENCY), Requirement(Consistency.ANY, must_be_current=False), True),
        (request(MIN_POSITION), Requirement(min_position=Position(0, 7)), False),
        (request(), Requirement(min_position=Position(0, 7)), False),
        (request((b"metatide-max-wait-ms", b"5")), Requirement(max_wait_ms=5), False),
        (request(method="POST"), Requirement(), False),
    ],
)
def test_what_equal_requests_may_get_is_cached(
    scope: Scope, requirement: Requirement, *, may_be: bool
) -> None:
    assert may_be_cached(scope, requirement) is may_be


@pytest.mark.parametrize("max_age_ms", [None, 0, 100])
def test_an_answer_is_found_by_what_its_request_says(max_age_ms: int | None) -> None:
    views, metrics = Views(MemoryShards(MemoryShard())), Metrics()
    cache = ResponseCache(views, lambda _: False)
    state = moment(views)
    CacheFiller(cache, metrics).put(
        request(CONSISTENCY), "getTable", state, max_age_ms, Reason.FRESH, b"{}", POSITION
    )
    assert cache.get(("/p", b"q", b"")) is None
    cached = cache.get(("/p", b"q", b"any"))
    assert cached is not None
    assert (cached.body, cached.max_age_ms) == (b"{}", max_age_ms or 0)
    assert cached.to_confirm == (() if max_age_ms is None else state.targets)
    before = sum(metrics.counts().values())
    cached.count()
    assert sum(metrics.counts().values()) == before + 1


def test_an_answer_that_is_not_admitted_is_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    views = Views(MemoryShards(MemoryShard()))
    cache = ResponseCache(views, lambda _: False)
    monkeypatch.setattr(cache, "admits", lambda _: False)
    filler = CacheFiller(cache, Metrics())
    filler.put(request(), "getTable", moment(views), None, Reason.FRESH, b"{}", POSITION)
    assert cache.get(("/p", b"q", b"")) is None
