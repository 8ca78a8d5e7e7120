"""Questions of peers over HTTP, and answers to them in frames that prove themselves.

An answer is a response of type `application/x-metatide-proved`. Its first frame holds the status
and the headers, the others the body. So each piece is proved before it is passed on, however long
the answer is, and one that was cut off is noticed.
"""

from collections.abc import AsyncIterator
from hashlib import sha256
from hmac import compare_digest
from struct import Struct as Packed
from typing import Final, NamedTuple

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hive.errors import UNDECODABLE, CutOffError, ForbiddenError, UnprovedError
from query_api.http.gate import OPERATOR, PEER
from query_api.http.messages import Headers, header, send_problem
from query_api.http.requirement_headers import REQUIREMENTS
from query_api.peers import Peers, Question

PROOF: Final = b"metatide-proof"
PROVED: Final = b"application/x-metatide-proved"
FRAME_BYTES_MAX: Final = 1 << 20
FORWARDED: Final = b"metatide-forwarded"
"""The header of what another worker forwards, which isn't forwarded again."""
PASSED_ON: Final = frozenset(
    (b"accept", b"accept-encoding", b"content-type", b"if-none-match", FORWARDED, *REQUIREMENTS)
)
"""The headers of a request that a peer gets; nothing else leads to another answer."""
MOMENT: Final = b"metatide-moment"
"""The header by which an owner says what an answer depends on, for a worker that may keep it."""
PASSED_BACK: Final = frozenset(
    (
        MOMENT,
        *(b"cache-control", b"content-encoding", b"content-length", b"content-type", b"etag"),
        *(
            b"metatide-detail",
            b"metatide-position",
            b"metatide-reason",
            b"metatide-source",
            b"vary",
        ),
    )
)
"""The headers of an answer that are passed back, all but `MOMENT` to the client."""
_FRAME: Final = Packed("!?I32s")
_IS_LAST, _HAS_MORE = b"\x01", b"\x00"


class Head(msgspec.Struct, frozen=True):
    """The first frame of an answer."""

    status: int
    headers: list[tuple[bytes, bytes]]


class BodyPiece(NamedTuple):
    """A piece of the body of an answer."""

    data: bytes
    more: bool
    """Whether others follow."""


_decode: Final = msgspec.msgpack.Decoder(Head).decode


def proof_header(
    peers: Peers, address: str, method: str, target: bytes, headers: Headers, body: bytes
) -> Headers:
    """The header that proves a question to a peer; nothing without a secret."""
    digest = sha256(body).digest()
    question = peers.question(address, _parts(method, target, headers, digest))
    if question is None:
        return []
    codes = question.nonce.hex(), question.proof.hex(), digest.hex()
    return [(PROOF, ".".join((str(question.time_s), *codes)).encode())]


def nonce_of(headers: Headers) -> bytes:
    """The nonce of a question."""
    [(_, value)] = headers
    return bytes.fromhex(value.split(b".")[1].decode())


def _parts(method: str, target: bytes, headers: Headers, digest: bytes) -> list[bytes]:
    passed_on = [b"%b: %b" % pair for pair in headers if pair[0] in PASSED_ON]
    return [b"http", method.encode(), target, b"\n".join(passed_on), digest]


class PeerMiddleware:
    """Lets peers ask, and operators who have their secret, and proves the answers to them."""

    def __init__(self, app: ASGIApp, peers: Peers) -> None:
        self._app = app
        self._peers = peers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._peers.have_secret:
            await self._app(scope, receive, send)
            return
        proof = header(scope, PROOF)
        if proof is None:
            await self._app(scope, receive, send)
            return
        checked = self._checked(scope, proof)
        if checked is None:
            detail = "the proof of the workers' secret (worker.secret_file) is wrong, or too old"
            await send_problem(send, 403, detail)
            return
        question, digest = checked
        state = scope.setdefault("state", {})
        state[PEER] = True
        # What a worker forwards is a question of its client, which may be any reader.
        state[OPERATOR] = header(scope, FORWARDED) is None
        answer = _ProvedAnswer(self._peers, question.nonce, send)
        try:
            await self._app(scope, _proved(receive, digest), answer.send)
        finally:
            # What has failed after the first frame is cut off there.
            await answer.flush()

    def _checked(self, scope: Scope, proof: bytes) -> tuple[Question, bytes] | None:
        """The question of a peer, and the digest of its body."""
        try:
            time_s, *texts = proof.decode("ascii").split(".")
            nonce, code, digest = (bytes.fromhex(text) for text in texts)
            question = Question(int(time_s[:20]), nonce, code)
        except ValueError:
            return None
        target = scope.get("raw_path") or scope["path"].encode()
        if scope["query_string"]:
            target += b"?" + scope["query_string"]
        parts = _parts(scope["method"], target, scope["headers"], digest)
        if not self._peers.is_asked(question, self._peers.address, parts):
            return None
        # Reads do no harm when somebody repeats them, but orders might.
        if header(scope, FORWARDED) is None and not self._peers.is_first(question):
            return None
        return question, digest


def _proved(receive: Receive, digest: bytes) -> Receive:
    """Receives a body that must have this digest before it ends."""
    hashed = sha256()

    async def checked() -> Message:
        message = await receive()
        if message["type"] == "http.request":
            hashed.update(message.get("body", b""))
            if not message.get("more_body", False) and hashed.digest() != digest:
                raise ForbiddenError("the body isn't the one that was proved")
        return message

    return checked


class _ProvedAnswer:
    """Sends an answer in frames. The first goes with the beginning of the body: most answers are
    one message.
    """

    def __init__(self, peers: Peers, nonce: bytes, send: Send) -> None:
        self._frames = _Frames(peers, nonce)
        self._send = send
        self._head = b""
        """The first frame, until it is sent."""
        self._has_begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            head = Head(
                message["status"], [(k, v) for k, v in message["headers"] if k in PASSED_BACK]
            )
            self._head = self._frames.frame(msgspec.msgpack.encode(head), more=True)
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if body or not more:
            rest = memoryview(body)
            while len(rest) > FRAME_BYTES_MAX:
                await self._write(self._frames.frame(rest[:FRAME_BYTES_MAX], more=True), more=True)
                rest = rest[FRAME_BYTES_MAX:]
            await self._write(self._frames.frame(rest, more=more), more=more)

    async def flush(self) -> None:
        """Sends the first frame, if nothing has come after it."""
        if self._head:
            await self._write(b"", more=True)

    async def _write(self, frame: bytes, *, more: bool) -> None:
        head, self._head = self._head, b""
        data = head + frame
        if not self._has_begun:
            self._has_begun = True
            headers = [(b"content-type", PROVED)]
            if not more:
                headers.append((b"content-length", b"%d" % len(data)))
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send({"type": "http.response.body", "body": data, "more_body": more})


class _Frames:
    """Proves the frames of one answer, in order."""

    def __init__(self, peers: Peers, nonce: bytes) -> None:
        self._peers = peers
        self._nonce = nonce
        self._count = 0

    def proof(self, payload: bytes | memoryview, *, more: bool) -> bytes:
        """The proof of the next frame."""
        number, self._count = self._count, self._count + 1
        flag = _HAS_MORE if more else _IS_LAST
        parts = (b"http", number.to_bytes(8), flag, payload)
        return self._peers.answer(self._nonce, parts)

    def frame(self, payload: bytes | memoryview, *, more: bool) -> bytes:
        head = _FRAME.pack(more, len(payload), self.proof(payload, more=more))
        return b"".join((head, payload))


class ProvedReader:
    """Reads the frames of an answer; raises UnprovedError for the first that proves nothing,
    CutOffError if there are no more before the last.
    """

    def __init__(self, peers: Peers, nonce: bytes, blocks: AsyncIterator[bytes]) -> None:
        self._frames = _Frames(peers, nonce)
        self._blocks = blocks
        self._data = bytearray()
        self._more = True

    async def head(self) -> Head:
        payload = await self._next()
        if not self._more:
            raise UnprovedError("an answer ends with its head")
        try:
            return _decode(payload)
        except UNDECODABLE as error:
            raise UnprovedError(f"the head of an answer can't be read: {error}") from error

    async def body(self) -> AsyncIterator[BodyPiece]:
        """The pieces of the body, each of which is proved."""
        while self._more:
            payload = await self._next()
            yield BodyPiece(payload, self._more)

    async def _next(self) -> bytes:
        more, length, proof = _FRAME.unpack(await self._take(_FRAME.size))
        if length > FRAME_BYTES_MAX:
            raise UnprovedError("a frame of an answer is too long")
        payload = await self._take(length)
        if not compare_digest(proof, self._frames.proof(payload, more=more)):
            raise UnprovedError("a frame of an answer proves nothing")
        self._more = more
        return payload

    async def _take(self, count: int) -> bytes:
        while len(self._data) < count:
            block = await anext(self._blocks, None)
            if block is None:
                raise CutOffError("an answer was cut off")
            self._data += block
        taken = bytes(self._data[:count])
        del self._data[:count]
        return taken
