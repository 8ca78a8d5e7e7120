"""Answers that are kept for as long as nothing that they depend on changes.

As long as no commit of the shard touches what was read, the same question has the same answer, byte
for byte. So it suffices to check whether a commit did. For `latest` the database is also asked,
each time, whether a newer event touched what was read.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from starlette.types import Scope

from query_api.http.messages import JSON, Headers, compressed, etag_of, is_etag_in
from query_api.latest.latest_log import LatestLog
from query_api.positions import Position
from query_api.shards import Moment, Views
from query_api.targets import Target

BYTES_MAX: Final = 64 * 1024 * 1024
ANSWER_BYTES_MAX: Final = 1024 * 1024
HEAD_BYTES_MAX: Final = 4096
HEADS_MAX: Final = 16
_FORMS_MAX: Final = 4
_OVERHEAD_BYTES: Final = 2048
_POSITION: Final = b"metatide-position"
_EMPTY: Final = {"type": "http.response.body", "body": b""}
_DECIDE_FRAMING: Final = frozenset(
    (b"content-length", b"transfer-encoding", b"expect", b"upgrade", b"connection")
)
CONSISTENCY: Final = b"metatide-consistency"
"""The only header with a requirement and so few values that it can be part of the key."""
Key = tuple[str, bytes, bytes]
"""Path, query, and that header."""
Response = tuple[int, Headers, bytes]


class CachedAnswer:
    """One answer, in the encodings that were requested so far."""

    def __init__(
        self,
        moment: Moment,
        latest_of: tuple[Target, ...],
        body: bytes,
        headers: Headers,
        count: Callable[[], None],
    ) -> None:
        """`latest_of` are the targets to ask the database about; empty unless the consistency is
        `latest`.
        """
        self.moment = moment
        self.latest_of = latest_of
        self.size = len(body) + _OVERHEAD_BYTES
        self.count = count
        self.etag = etag_of(body)
        self.heads: list[bytes] = []
        self._body = body
        self._headers = [*headers, (b"etag", self.etag)]
        self._forms: dict[bytes | None, Response] = {}

    @property
    def reached(self) -> Position:
        return self.moment.reached

    def is_latest(self, latest: LatestLog) -> bool:
        """Whether no event up to the current one of this read touched it."""
        return latest.leaves(self.latest_of, self.reached)

    def response(self, etag: bytes | None, accepted: bytes | None) -> Response:
        """The response for a caller with these ETags that accepts these encodings."""
        if etag is not None and is_etag_in(etag, self.etag):
            return 304, self._headers, b""
        response = self._forms.get(accepted)
        if response is None:
            body, headers = compressed(
                accepted, self._body, [*self._headers, (b"content-type", JSON)]
            )
            response = 200, [*headers, (b"content-length", b"%d" % len(body))], body
            if len(self._forms) < _FORMS_MAX:
                self._forms[accepted] = response
        return response


class RawResponse(NamedTuple):
    """The response to requests with exactly the same bytes, as it is sent."""

    key: Key
    kept: CachedAnswer
    status: int
    before: bytes
    """Headers up to the value of the position, which may be another one each time."""
    after: bytes

    @property
    def needs_latest(self) -> bool:
        """Whether the database must be asked each time."""
        return bool(self.kept.latest_of)


class AnswerCache:
    """Answers up to a number of bytes; the least recently used are dropped first."""

    def __init__(self, views: Views, is_rewound: Callable[[int], bool]) -> None:
        self._views = views
        self._is_rewound = is_rewound
        self._kept: OrderedDict[Key, CachedAnswer] = OrderedDict()
        self._heads: dict[bytes, RawResponse] = {}
        self._bytes = 0

    def get(self, key: Key) -> CachedAnswer | None:
        """The kept answer that still holds, apart from what the database may know."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        moment = self._views.renewed(kept.moment)
        if moment is None or self._is_rewound(moment.reached.epoch):
            self._drop(key)
            return None
        kept.moment = moment
        self._kept.move_to_end(key)
        return kept

    def put(self, key: Key, kept: CachedAnswer) -> None:
        if kept.size > ANSWER_BYTES_MAX:
            return
        self._drop(key)
        self._kept[key] = kept
        self._grow(kept.size)

    def by_head(self, head: bytes) -> RawResponse | None:
        """The response to a request of exactly these bytes, if one is kept."""
        short = self._heads.get(head)
        return short if short is not None and self.get(short.key) is short.kept else None

    def put_head(self, key: Key, kept: CachedAnswer, scope: Scope, response: Response) -> None:
        """Remembers the bytes of this request, if the answer depends on nothing else."""
        head = scope.get("state", {}).get("head")
        if head is None or len(kept.heads) >= HEADS_MAX:
            return
        if head in kept.heads:
            # Several asked before the first was answered.
            return
        if len(head) > HEAD_BYTES_MAX or scope["http_version"] != "1.1":
            return
        for name, value in scope["headers"]:
            if name in _DECIDE_FRAMING and value.lower() != b"keep-alive":
                return
        kept.heads.append(head)
        self._heads[head] = RawResponse(key, kept, response[0], *_around_position(response))
        kept.size += len(head) + _OVERHEAD_BYTES
        self._grow(len(head) + _OVERHEAD_BYTES)

    def _grow(self, size: int) -> None:
        self._bytes += size
        while self._bytes > BYTES_MAX:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Key) -> None:
        dropped = self._kept.pop(key, None)
        if dropped is not None:
            self._bytes -= dropped.size
            for head in dropped.heads:
                self._heads.pop(head, None)


def _around_position(response: Response) -> tuple[bytes, bytes]:
    _, headers, body = response
    lines = b"".join(b"%b: %b\r\n" % header for header in headers)
    mark = b"%b: " % _POSITION
    before, position, rest = lines.partition(mark)
    assert position, "an answer without its position"
    _, _, after = rest.partition(b"\r\n")
    return before + mark, b"\r\n%b\r\n%b" % (after, body)


def messages(response: Response, position: Position) -> tuple[dict[str, Any], ...]:
    """The ASGI messages of the response, with `position` in place of the stored one."""
    status, headers, body = response
    text = str(position).encode()
    headers = [(name, text if name == _POSITION else value) for name, value in headers]
    start = {"type": "http.response.start", "status": status, "headers": headers}
    return start, {"type": "http.response.body", "body": body} if body else _EMPTY
