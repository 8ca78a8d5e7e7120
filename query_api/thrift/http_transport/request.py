"""The head of a request, and whether it can be one of a metastore's client."""

from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from query_api.thrift.sasl.plain import CHARS_MAX

ACTOR: Final = b"x-actor-username"
"""Names a client that needn't prove who it is."""
_THRIFT: Final = b"application/x-thrift"
"""What libraries of Thrift send."""
_TYPES: Final = frozenset((_THRIFT, b"application/vnd.apache.thrift.binary"))
"""The other is registered, for the one protocol that is spoken here."""
_TRACE: Final = frozenset((b"traceparent", b"tracestate"))
_NEEDED: Final = frozenset(
    (
        b"authorization",
        b"content-length",
        b"content-type",
        b"expect",
        b"host",
        b"transfer-encoding",
        ACTOR,
    )
)


class Refusal(NamedTuple):
    """Why a request isn't answered."""

    status: HTTPStatus
    why: str


class Request(msgspec.Struct):
    """The head of a request, as far as it is needed."""

    url: bytes = b""
    headers: dict[bytes, bytes] = {}
    head_bytes: int = 0
    trace_headers: tuple[tuple[bytes, bytes], ...] = ()
    """The W3C context of the sender's trace."""
    repeated: bytes = b""
    """A header that was sent more than once, though it may not be."""

    def add(self, name: bytes, value: bytes) -> None:
        self.head_bytes += len(name) + len(value) + len(b": \r\n")
        name = name.lower()
        if name in _NEEDED:
            if name in self.headers:
                self.repeated = name
            self.headers[name] = value
        elif name in _TRACE:
            self.trace_headers += ((name, value),)

    @property
    def waits_to_continue(self) -> bool:
        return self.headers.get(b"expect", b"").lower() == b"100-continue"

    def fault(self, method: bytes, path: str, body_bytes_max: int) -> Refusal | None:
        """What is wrong with it, if anything is."""
        try:
            asked_path = urlsplit(self.url.decode("ascii")).path
        except ValueError:
            asked_path = ""
        # Hive's clients ask for `/metastore/*`, the pattern by which its metastores have it.
        if asked_path != path and not asked_path.startswith(f"{path}/"):
            return Refusal(HTTPStatus.NOT_FOUND, f"calls of the metastore are sent to {path}")
        if method != b"POST":
            return Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "calls of the metastore are sent by POST")
        if self.repeated:
            name = self.repeated.decode("ascii")
            return Refusal(HTTPStatus.BAD_REQUEST, f"the header {name} is sent more than once")
        length = self.headers.get(b"content-length", b"0")
        if int(length) > body_bytes_max:
            return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, too_large(body_bytes_max))
        content_type = self.headers.get(b"content-type", b"").partition(b";")[0]
        if content_type.strip().lower() not in _TYPES:
            # Browsers let a page send other types to any server without asking it first.
            why = f"calls of the metastore are sent as content-type: {_THRIFT.decode()}"
            return Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, why)
        return None

    def actor(self) -> str:
        """The user that a client says that it is; empty if it says none. Raises ValueError if that
        can't be the name of a user.
        """
        name = self.headers.get(ACTOR, b"").decode()
        if len(name) > CHARS_MAX or not name.isprintable():
            raise ValueError("can't be the name of a user")
        return name


def too_large(body_bytes_max: int) -> str:
    """Why a body isn't read."""
    return f"a call has at most {body_bytes_max} bytes (thrift.message_mib_max)"
