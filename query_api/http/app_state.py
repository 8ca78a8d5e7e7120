"""What an application gives the server that runs it."""

from typing import NotRequired, TypedDict

from query_api.http.gate import Gate
from query_api.http.response_cache import ResponseCache
from query_api.in_flight import Budget
from query_api.latest.recent_reads import RecentReads
from query_api.resolver.shared_reads import LogEndReads


class AppState(TypedDict):
    """The state of each connection. Applications that answer no reads have a budget alone."""

    in_flight: Budget
    response_cache: NotRequired[ResponseCache]
    log_end_reads: NotRequired[LogEndReads]
    recent: NotRequired[RecentReads]
    gate: NotRequired[Gate]
