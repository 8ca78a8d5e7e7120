"""The messages by which a call is forwarded to a shard's owner: a method that only workers call."""

from collections.abc import Container
from hmac import compare_digest
from typing import Final, NamedTuple

import msgspec

from hive.errors import UNDECODABLE, ThriftError, UnprovedError, UpstreamError
from hive.names import TableName
from hive.thrift.binary import decode, encode
from hive.thrift.types import Struct, binary
from query_api import owner_moment
from query_api.peers import Peers, Question
from query_api.positions import Position
from query_api.reasons import Reason, Source
from query_api.targets import Target
from query_api.thrift.call import Call, CallAnswer, Client
from query_api.thrift.metastore.link import Reply
from query_api.thrift.protocol.scanner import READ_STEPS_MAX, STEPS_MAX, Scanner
from query_api.thrift.protocol.wire import Message, MessageType, header

FORWARDED: Final = "metatide.forward"
_NO_SEQUENCE: Final = b"\0\0\0\0"
_CALL: Final = Struct("forward_args", (1, "call", binary), (2, "question", binary))
_ANSWER: Final = Struct("forward_result", (1, "answer", binary), (2, "proof", binary))
_PROTOCOL: Final = b"thrift"


class ForwardedQuestion(msgspec.Struct, frozen=True, array_like=True):
    """What a worker asks of another, in MessagePack."""

    method: str
    arguments: bytes
    min_position: Position | None
    age_ms_max: int | None


class ForwardedAnswer(msgspec.Struct, frozen=True, array_like=True):
    """What the other answers, in MessagePack."""

    result: bytes
    source: Source
    reason: Reason
    position: Position
    mark: int = 0
    moment: bytes | None = None
    """What the answer depends on, if the worker that asks may keep it."""
    targets: tuple[Target, ...] | None = None
    """What the answer tells of, where reads are guarded."""


_decode_question: Final = msgspec.msgpack.Decoder(ForwardedQuestion).decode
_decode_proof: Final = msgspec.msgpack.Decoder(Question).decode
_decode_answer: Final = msgspec.msgpack.Decoder(ForwardedAnswer).decode
_encode: Final = msgspec.msgpack.Encoder().encode


class ForwardedCall(NamedTuple):
    """A call that another worker forwards, and the nonce for the proof of the answer."""

    call: Call
    nonce: bytes


def call_of(message: Message, peers: Peers, address: str) -> ForwardedCall:
    """The call that another worker forwards to this one, at this address. Raises UnprovedError if
    it doesn't prove the workers' secret, if there is one.
    """
    fields = decode(_CALL, message.body)
    data: bytes = fields.get("call", b"")
    nonce = _proved(data, fields.get("question", b""), peers, address) if peers.have_secret else b""
    try:
        question = _decode_question(data)
    except UNDECODABLE as error:
        raise ThriftError(f"a forwarded call can't be read: {error}") from error
    if not peers.have_secret:
        # What has the secret is a worker, which has scanned the call.
        _scan(question)
    least, age_ms_max = question.min_position, question.age_ms_max
    call = Call(question.method, question.arguments, Client(), least, age_ms_max)
    return ForwardedCall(call, nonce)


def _proved(data: bytes, proof: bytes, peers: Peers, address: str) -> bytes:
    """The nonce of a question that a worker has proved."""
    try:
        question = _decode_proof(proof)
    except UNDECODABLE:
        question = None
    if question is None or not peers.is_asked(question, address, _parts(data)):
        raise UnprovedError(f"{FORWARDED} is for workers alone, and this call doesn't prove it")
    return question.nonce


def _scan(question: ForwardedQuestion) -> None:
    whole = header(MessageType.CALL, question.method, _NO_SEQUENCE) + question.arguments
    scanner = Scanner(len(whole), STEPS_MAX)
    if scanner.feed(whole) != len(whole) or scanner.steps > READ_STEPS_MAX:
        raise ThriftError("a forwarded call can't be read here")


def forwarded_answer(
    answer: CallAnswer, former_names: Container[TableName], *, is_guarded: bool
) -> ForwardedAnswer:
    """A whole answer with what it depends on, and, if reads are guarded, with what it tells of."""
    assert isinstance(answer.result, bytes)
    moment = targets = None
    if answer.moment is not None:
        moment = owner_moment.encode(answer.moment, former_names)
    if is_guarded and answer.targets is not None:
        data = _encode(answer.targets)
        targets = answer.targets if len(data) <= owner_moment.BYTES_MAX else None
    mark = 0 if answer.moment is None else answer.moment.mark
    return ForwardedAnswer(
        answer.result, answer.source, answer.reason, answer.position, mark, moment, targets
    )


def reply(message: Message, answer: ForwardedAnswer | None, peers: Peers, nonce: bytes) -> bytes:
    """The message of a reply, with its proof; without an answer, it tells that there is none."""
    data = b"" if answer is None else _encode(answer)
    fields = {} if answer is None else {"answer": data}
    if peers.have_secret:
        fields["proof"] = peers.answer(nonce, _parts(data))
    return header(MessageType.REPLY, message.method, message.sequence) + encode(_ANSWER, fields)


def _parts(data: bytes) -> tuple[bytes, bytes]:
    """All that a message says, beside its own proof."""
    return _PROTOCOL, data


def forwarding(call: Call, address: str, peers: Peers) -> tuple[bytes, bytes | None]:
    """The arguments that forward a call to the worker at an address, and the nonce of the question;
    None without a secret.
    """
    data = _encode(
        ForwardedQuestion(call.method, call.arguments, call.min_position, call.age_ms_max)
    )
    question = peers.question(address, _parts(data))
    if question is None:
        return encode(_CALL, {"call": data}), None
    return encode(_CALL, {"call": data, "question": _encode(question)}), question.nonce


def answer_of(reply: Reply, peers: Peers, nonce: bytes | None, shard: int) -> CallAnswer | None:
    """The answer in the reply of a shard's owner; None if it has none. Raises UnprovedError if it
    doesn't prove the secret, UpstreamError or ThriftError if it can't be read.
    """
    if reply.kind != MessageType.REPLY:
        kind = UpstreamError if nonce is None else UnprovedError
        raise kind("it doesn't accept forwarded calls")
    fields = decode(_ANSWER, reply.body)
    data: bytes = fields.get("answer", b"")
    if nonce is not None:
        proof = peers.answer(nonce, _parts(data))
        if not compare_digest(proof, fields.get("proof", b"")):
            raise UnprovedError("its answer proves nothing")
    if not data:
        return None
    try:
        forwarded = _decode_answer(data)
    except UNDECODABLE as error:
        raise UpstreamError(f"its answer can't be read: {error}") from error
    answer = CallAnswer(
        forwarded.result,
        forwarded.source,
        forwarded.reason,
        forwarded.position,
        mark=forwarded.mark,
        targets=forwarded.targets,
    )
    # What nobody has proved isn't kept for others.
    if nonce is not None and forwarded.moment is not None:
        answer.moment = owner_moment.decode(forwarded.moment, shard)
        answer.to_confirm = () if answer.moment is None else answer.moment.targets
    return answer
