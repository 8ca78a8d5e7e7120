"""What workers ask each other over Thrift, and what they answer, without proofs."""

from collections.abc import Sequence
from typing import Any

import msgspec

from hive.thrift.binary import encode
from hive.thrift.types import Struct, binary

_CALL = Struct("call", (1, "call", binary))
_ANSWER = Struct("answer", (1, "answer", binary))


def question(method: str, arguments: bytes) -> bytes:
    """The arguments that forward a call."""
    return question_of([method, arguments, None, None])


def question_of(values: Sequence[Any]) -> bytes:
    return encode(_CALL, {"call": msgspec.msgpack.encode(values)})


def answer_of(values: Sequence[Any]) -> bytes:
    return encode(_ANSWER, {"answer": msgspec.msgpack.encode(values)})
