"""The common path of all requests for data."""

import asyncio
from collections.abc import Coroutine, Mapping
from ssl import SSLContext
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec
import structlog
from starlette.types import Receive, Scope, Send

from hive.errors import ForbiddenError, MetatideError, NoSuchObjectError
from query_api.backend import Backend
from query_api.http.access import OPEN, Tokens
from query_api.http.cache_filler import CacheFiller, may_be_cached
from query_api.http.endpoints import Endpoint
from query_api.http.forward import Forwarder
from query_api.http.gate import Gate
from query_api.http.messages import (
    NDJSON,
    Headers,
    grounds,
    header,
    require_json,
    send_body,
    send_lines,
    send_problem,
    status_of,
)
from query_api.http.metrics import Metrics
from query_api.http.owner_answers import is_for_peer, moment_of_owner, send_to_peer
from query_api.http.proof import FORWARDED
from query_api.http.request_body import read_body
from query_api.http.request_parameters import RequestParameters
from query_api.http.requirement_headers import headers_by_default, required_by_headers
from query_api.http.response_cache import ResponseCache
from query_api.http.scatter_gather import Parts
from query_api.peers import Peers
from query_api.reads import Read, Rendered
from query_api.reasons import Reason
from query_api.requirement import Requirement, parse_requirement
from query_api.requirement_defaults import Defaults
from query_api.resolver.answer import ReadAnswer

if TYPE_CHECKING:
    from state.tracing import Tracing

log = structlog.get_logger(__name__)


class Settings(msgspec.Struct, frozen=True):
    """Settings of a deployment."""

    defaults: Defaults = Defaults()
    tokens: Tokens = OPEN
    names: frozenset[str] = frozenset()
    """Names of this server, by which browsers may ask it where there are no tokens."""
    admins_only: bool = False
    """Whether reads over HTTP are for administrators alone."""
    trusted: SSLContext | None = None
    """The CA certificates for other workers; by default the system's."""
    peers: Peers = msgspec.field(default_factory=Peers)
    in_flight_max: int = 2_000
    timeout_s: float = 60.0


class Service:
    """Answers requests for data over HTTP."""

    def __init__(self, backend: Backend, settings: Settings) -> None:
        resolver, views = backend.resolver, backend.views
        self.metrics = _metrics(backend.tracing)
        self.settings = settings
        self.gate = Gate(settings.tokens, settings.names, admins_only=settings.admins_only)
        self._resolver = resolver
        self._views = views
        self._history = backend.database.history
        self.response_cache = ResponseCache(views, resolver.is_rewound)
        self._filler = CacheFiller(self.response_cache, self.metrics)
        self.forwarder = _forwarder(settings, backend.tracing)
        self._parts = Parts(resolver, views, self.forwarder)
        self._in_flight = 0
        self.metrics.in_flight.set_function(lambda: self._in_flight)
        self.metrics.watch(backend.recent)

    async def close(self) -> None:
        await self.forwarder.close()

    async def answer(self, endpoint: Endpoint, scope: Scope, receive: Receive, send: Send) -> None:
        """Applies the limits and answers, or reports what went wrong."""
        refusal = self._refusal(scope)
        if refusal is not None:
            status, detail, headers = refusal
            self.metrics.refused(status)
            await send_problem(send, status, detail, headers)
            return
        self._in_flight += 1
        began = _Began(send)
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                await self._answer(endpoint, scope, receive, began.send)
        except MetatideError as error:
            status, headers = status_of(error)
            await self._fail(began, status, str(error), headers)
        except TimeoutError:
            detail = f"no answer within {self.settings.timeout_s:g} s"
            await self._fail(began, 503, detail, [(b"retry-after", b"1")])
        except Exception:
            log.exception("a request failed", path=scope["path"])
            await self._fail(began, 500, "an internal error of the server; see its log", [])
        finally:
            self._in_flight -= 1

    def _refusal(self, scope: Scope) -> tuple[int, str, Headers] | None:
        try:
            if self.gate.reader(scope) is None:
                detail = "send a valid token: Authorization: Bearer …"
                return 401, detail, [(b"www-authenticate", b"Bearer")]
        except ForbiddenError as error:
            return 403, str(error), []
        if self._in_flight >= self.settings.in_flight_max:
            return 503, "too many concurrent requests", [(b"retry-after", b"1")]
        return None

    async def _answer(self, endpoint: Endpoint, scope: Scope, receive: Receive, send: Send) -> None:
        start = perf_counter()
        body = b""
        if scope["method"] == "POST":
            require_json(header(scope, b"content-type"))
            body = await read_body(scope, receive)
        parameters = RequestParameters(
            scope["path_params"], scope["query_string"], body, frozenset(endpoint.parameters)
        )
        lines = endpoint.lines if header(scope, b"accept") == NDJSON else None
        read = endpoint.read(parameters) if lines is None else lines.read(parameters)
        conditions = parameters.requirement(required_by_headers(scope))
        requirement = parse_requirement(conditions, read, self.settings.defaults)
        if await self._forward(endpoint.id, read, conditions, requirement, scope, body, send):
            return
        answer: ReadAnswer[Any] | None = None
        if header(scope, FORWARDED) is None:
            answer = await self._parts.answer(read, requirement)
        if answer is None:
            to_answer = Rendered(read, endpoint.encode) if lines is None else read
            log_end = scope.get("state", {}).get("log_end")
            answer = await self._resolver.answer(to_answer, requirement, log_end)
        self.metrics.answered(answer.source, answer.reason, endpoint.id, perf_counter() - start)
        if isinstance(answer.value, NoSuchObjectError):
            await send_problem(send, 404, str(answer.value), grounds(answer))
        elif lines is not None:
            await send_lines(receive, send, lines.write(answer.value), grounds(answer))
        else:
            await self._sending(endpoint.id, requirement, answer, scope, send)

    def _sending(
        self,
        id_: str,
        requirement: Requirement,
        answer: ReadAnswer[bytes],
        scope: Scope,
        send: Send,
    ) -> Coroutine[Any, Any, None]:
        """Caches the body of an answer if equal requests may get it, and sends it once awaited."""
        moment, body, headers = answer.moment, answer.value, grounds(answer)
        assert isinstance(body, bytes)
        if moment is None or not may_be_cached(scope, requirement):
            return send_body(scope, send, body, headers)
        age_ms_max = requirement.age_ms_max
        self._filler.put(scope, id_, moment, age_ms_max, answer.reason, body, headers)
        if is_for_peer(scope, body):
            return send_to_peer(send, moment, self._history.former_names, body, headers)
        return send_body(scope, send, body, headers)

    async def _forward(
        self,
        id_: str,
        read: Read[Any],
        conditions: Mapping[str, str],
        requirement: Requirement,
        scope: Scope,
        body: bytes,
        send: Send,
    ) -> bool:
        """Forwards the request once, if another worker owns all that is read."""
        source = self._views.source
        shards = {self._views.shard_of(target) for target in read.targets}
        if len(shards) != 1 or source.shard(number := shards.pop()) is not None:
            return False
        url = source.owner_url(number)
        if url is None or header(scope, FORWARDED) is not None:
            return False

        def store(grounds_of_owner: str, whole: bytes, headers: Headers) -> None:
            moment, age_ms = moment_of_owner(grounds_of_owner, number), requirement.log_age_ms
            if moment is not None and age_ms is not None and may_be_cached(scope, requirement):
                # No others of such a consistency are cached.
                self._filler.put(scope, id_, moment, age_ms, Reason.FRESH, whole, headers)

        least, more = requirement.min_position, headers_by_default(conditions, requirement)
        return await self.forwarder.forward(url, scope, body, send, least, store, more)

    async def _fail(self, began: "_Began", status: int, detail: str, headers: Headers) -> None:
        self.metrics.refused(status)
        if began.has_begun:
            # The status is already sent, so only closing the connection early signals the failure.
            raise ConnectionAbortedError(detail)
        await send_problem(began.send, status, detail, headers)


class _Began:
    """Records whether the response has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def send(self, message: Any) -> None:
        self.has_begun = True
        await self._send(message)


def _forwarder(settings: Settings, tracing: "Tracing | None") -> Forwarder:
    if tracing is None:
        return Forwarder(settings.trusted, settings.peers)
    from query_api.http.tracing import TracedForwarder

    return TracedForwarder(settings.trusted, settings.peers, tracing)


def _metrics(tracing: "Tracing | None") -> Metrics:
    if tracing is None:
        return Metrics()
    from query_api.http.tracing import TracedMetrics

    return TracedMetrics()
