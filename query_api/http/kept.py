"""Answers that are kept as long as the shard that they came from stands still.

Between two commits of a shard the same question has the same answer, down to the bytes. So what
decides is asked once: whether the shard has moved since. Answers that need the database each time
(`latest`) are not kept.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from query_api.http.access import Role, Tokens
from query_api.http.messages import JSON, Headers, compressed, etag_of, is_etag_in
from query_api.shards import Views
from state.reading import ShardReader

BYTES_MAX: Final = 64 * 1024 * 1024
ANSWER_BYTES_MAX: Final = 1024 * 1024
Key = tuple[str, bytes]


class Kept:
    """One answer, in the forms in which it was asked for."""

    def __init__(
        self,
        shard: int,
        reader: ShardReader,
        body: bytes,
        headers: Headers,
        count: Callable[[], None],
    ) -> None:
        self.shard = shard
        self.reader = reader
        self.size = len(body)
        self.count = count
        self.etag = etag_of(body)
        self._body = body
        self._headers = headers
        self._forms: dict[bytes | None, tuple[dict[str, Any], dict[str, Any]]] = {}

    def messages(self, accepted: bytes | None) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is sent to a caller who takes these encodings."""
        found = self._forms.get(accepted)
        if found is None:
            body, headers = compressed(
                accepted,
                self._body,
                [*self._headers, (b"content-type", JSON), (b"etag", self.etag)],
            )
            headers.append((b"content-length", b"%d" % len(body)))
            found = _start(200, headers), {"type": "http.response.body", "body": body}
            if len(self._forms) < _FORMS_MAX:
                self._forms[accepted] = found
        return found

    def not_modified(self) -> dict[str, Any]:
        return _start(304, [*self._headers, (b"etag", self.etag)])


_FORMS_MAX: Final = 4
_EMPTY: Final = {"type": "http.response.body", "body": b""}


class KeptAnswers:
    """A bounded number of bytes of answers; the one that was used longest ago goes first."""

    def __init__(self, views: Views, is_rewound: Callable[[int], bool]) -> None:
        self._views = views
        self._is_rewound = is_rewound
        self._kept: OrderedDict[Key, Kept] = OrderedDict()
        self._bytes = 0

    def get(self, key: Key) -> Kept | None:
        """An answer that is what would be answered now."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        reader = kept.reader
        if self._views.reader(kept.shard) is reader and not self._is_rewound(reader.head.epoch):
            return kept
        self._drop(key)
        return None

    def put(self, key: Key, kept: Kept) -> None:
        if kept.size > ANSWER_BYTES_MAX:
            return
        self._drop(key)
        self._kept[key] = kept
        self._bytes += kept.size
        while self._bytes > BYTES_MAX:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Key) -> None:
        dropped = self._kept.pop(key, None)
        if dropped is not None:
            self._bytes -= dropped.size


class FromKept:
    """Middleware before all routing: answers what is kept."""

    def __init__(self, app: ASGIApp, kept: KeptAnswers, tokens: Tokens) -> None:
        self._app = app
        self._kept = kept
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kept = None
        if scope["type"] == "http" and scope["method"] == "GET":
            kept = self._kept.get((scope["path"], scope["query_string"]))
        if kept is None or not await self._send(kept, scope, send):
            await self._app(scope, receive, send)

    async def _send(self, kept: Kept, scope: Scope, send: Send) -> bool:
        """False where headers ask for something else than the query alone would."""
        known = accepted = authorization = None
        for name, value in scope["headers"]:
            if name == b"if-none-match":
                known = value
            elif name == b"accept-encoding":
                accepted = value
            elif name == b"authorization":
                authorization = value
            elif name[:9] == b"metatide-" or (name == b"accept" and b"ndjson" in value):
                return False
        if self._tokens.role_of(authorization) < Role.READ:
            return False
        kept.count()
        if known is not None and is_etag_in(known, kept.etag):
            await send(kept.not_modified())
            await send(_EMPTY)
            return True
        start, body = kept.messages(accepted)
        await send(start)
        await send(body)
        return True


def _start(status: int, headers: Headers) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": headers}
