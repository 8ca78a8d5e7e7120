"""Answers that are cached as HTTP sends them, found by their path or by the bytes of a request."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from starlette.types import Scope

from query_api.answer_cache import AnswerCache, CachedAnswer
from query_api.http.gate import Admission
from query_api.http.messages import JSON, Headers, compressed, etag_of, is_etag_in
from query_api.owner_moment import AnyMoment
from query_api.positions import Position
from query_api.shards import Views
from query_api.targets import Target

BYTES_MAX: Final = 64 * 1024 * 1024
HEAD_BYTES_MAX: Final = 4096
HEADS_MAX: Final = 16
_FORMS_MAX: Final = 4
_OVERHEAD_BYTES: Final = 2048
BODY_BYTES_MAX: Final = 1024 * 1024 - _OVERHEAD_BYTES
_POSITION: Final = b"metatide-position"
_EMPTY: Final = {"type": "http.response.body", "body": b""}
_DECIDE_FRAMING: Final = frozenset(
    (b"content-length", b"transfer-encoding", b"expect", b"upgrade", b"connection")
)
CONSISTENCY: Final = b"metatide-consistency"
"""The header that is part of the key: of all that state a requirement, it alone has few values."""
Key = tuple[str, bytes, bytes]
"""Path, query, and consistency header."""
Response = tuple[int, Headers, bytes]


class CachedResponse(CachedAnswer):
    """One answer, in the encodings that were requested so far."""

    etag: bytes
    headers: Headers
    count: Callable[[], None]
    heads: list[bytes]
    forms: dict[bytes | None, Response]

    @classmethod
    def of(
        cls,
        key: Key,
        moment: AnyMoment,
        to_confirm: tuple[Target, ...],
        max_age_ms: int,
        body: bytes,
        headers: Headers,
        count: Callable[[], None],
    ) -> "CachedResponse":
        """The answer with this body; `count` is called whenever it is served again."""
        etag = etag_of(body)
        headers = [*headers, (b"etag", etag)]
        path, query, consistency = key
        size = 4 * len(path) + len(query) + len(consistency) + len(body) + _OVERHEAD_BYTES
        return cls(moment, to_confirm, max_age_ms, body, size, etag, headers, count, [], {})

    def response(self, etag: bytes | None, accepted: bytes | None) -> Response:
        """The response for a caller with these ETags that accepts these encodings."""
        if etag is not None and is_etag_in(etag, self.etag):
            return 304, self.headers, b""
        response = self.forms.get(accepted)
        if response is None:
            body, headers = compressed(
                accepted, self.body, [*self.headers, (b"content-type", JSON)]
            )
            response = 200, [*headers, (b"content-length", b"%d" % len(body))], body
            if len(self.forms) < _FORMS_MAX:
                self.forms[accepted] = response
                own_bytes = 0 if body is self.body else len(body)
                self.size += len(accepted or b"") + own_bytes + _OVERHEAD_BYTES
        return response

    def holds(self, body: bytes) -> bool:
        """Whether a body takes no room of its own: it is the answer's, or one of its forms'."""
        return body is self.body or any(body is form[2] for form in self.forms.values())


class RawResponse(NamedTuple):
    """The bytes of a response, for requests with exactly the same bytes."""

    key: Key
    cached: CachedResponse
    admission: Admission
    status: int
    before: bytes
    """The headers up to the value of the position, which may change each time."""
    after: bytes
    body: bytes
    needs_log_end: bool
    """Whether the database must be asked each time."""


class ResponseCache(AnswerCache[Key, CachedResponse]):
    """Finds responses by path and query, or by the bytes of a whole request."""

    def __init__(self, views: Views, is_rewound: Callable[[int], bool]) -> None:
        super().__init__(views, is_rewound, bytes_max=BYTES_MAX, body_bytes_max=BODY_BYTES_MAX)
        self._heads: dict[bytes, RawResponse] = {}

    def by_head(self, head: bytes) -> RawResponse | None:
        """The response to a request of exactly these bytes, if one is cached."""
        raw = self._heads.get(head)
        return raw if raw is not None and self.get(raw.key) is raw.cached else None

    def response(
        self, key: Key, cached: CachedResponse, etag: bytes | None, accepted: bytes | None
    ) -> Response:
        """The response from a cached answer, for a caller with these headers."""
        before = cached.size
        response = cached.response(etag, accepted)
        self._count_more(key, cached, cached.size - before)
        return response

    def put_head(
        self,
        key: Key,
        cached: CachedResponse,
        scope: Scope,
        response: Response,
        admission_of: Callable[[Scope], Admission],
    ) -> None:
        """Remembers the bytes of this request, if the answer depends on nothing but them and who
        sends them.
        """
        head = scope.get("state", {}).get("head")
        if head is None or self._answers.get(key) is not cached:
            return
        if head in cached.heads:
            # Equal requests came before the first was answered, or the tokens have changed since.
            again = self._heads[head]._replace(admission=admission_of(scope))
            self._heads[head] = again
            return
        if len(cached.heads) >= HEADS_MAX:
            return
        if len(head) > HEAD_BYTES_MAX or scope["http_version"] != "1.1":
            return
        for name, value in scope["headers"]:
            if name in _DECIDE_FRAMING and value.lower() != b"keep-alive":
                return
        cached.heads.append(head)
        admission = admission_of(scope)
        before, after = _around_position(response)
        needs_log_end = bool(cached.to_confirm)
        status, _, body = response
        raw = RawResponse(key, cached, admission, status, before, after, body, needs_log_end)
        self._heads[head] = raw
        size = len(head) + len(before) + len(after) + _OVERHEAD_BYTES
        if not cached.holds(body):
            size += len(body)
        cached.size += size
        self._count_more(key, cached, size)

    def _count_more(self, key: Key, cached: CachedResponse, size: int) -> None:
        if self._answers.get(key) is cached:
            self._grow(size)

    def _drop(self, key: Key) -> CachedResponse | None:
        dropped = super()._drop(key)
        if dropped is not None:
            for head in dropped.heads:
                self._heads.pop(head, None)
        return dropped


def _around_position(response: Response) -> tuple[bytes, bytes]:
    _, headers, _ = response
    lines = b"".join(b"%b: %b\r\n" % header for header in headers)
    mark = b"%b: " % _POSITION
    before, position, rest = lines.partition(mark)
    assert position, "an answer without its position"
    _, _, after = rest.partition(b"\r\n")
    return before + mark, b"\r\n%b\r\n" % after


def messages(response: Response, position: Position) -> tuple[dict[str, Any], ...]:
    """The ASGI messages of the response, with `position` in place of the stored one."""
    status, headers, body = response
    headers = positioned(headers, position)
    start = {"type": "http.response.start", "status": status, "headers": headers}
    return start, {"type": "http.response.body", "body": body} if body else _EMPTY


def positioned(headers: Headers, position: Position) -> Headers:
    """Headers of a cached answer with `position` in place of the stored one."""
    text = str(position).encode()
    return [(name, text if name == _POSITION else value) for name, value in headers]
