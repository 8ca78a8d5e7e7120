"""Asks the endpoint and a metastore the same question."""

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Sequence as Many
from typing import Any, Final, NamedTuple

import httpx
from thriftpy2.thrift import TApplicationException
from thriftpy2.utils import deserialize

from query_api.thrift.call import Call, Client
from query_api.thrift.methods.dropped_methods import substitute
from tests.differential import http_questions
from tests.differential.names import Names
from tests.differential.sequence import Sequence
from tests.differential.steps import Question
from tests.query_api.thrift.methods.comparison import comparable
from tests.query_api.thrift.methods.corpus import UNORDERED
from tests.query_api.thrift.methods.dropped_methods import decoded
from tests.query_api.thrift.methods.wire import RawClient, result, struct_of
from tests.support.hive import idl

ROUNDS: Final = 6
"""How many times a question is asked if the metastore changes meanwhile."""
CATCH_UP_S: Final = 5.0
"""The time limit for changes without a write id, which show under `write_ids` only once the shard
has applied them."""
_POLL_S: Final = 0.05
_VARYING: Final = re.compile(r"\(conn=\d+\)|(: )?Cannot invoke .* because .* is null|(: )?null$")
"""What varies in errors that are relayed: the number that MariaDB's driver gives its connection,
and the text of a NullPointerException, which the JVM leaves out once it is thrown often."""

Answer = Any
"""The bytes of a result, or the answer over HTTP."""


class Place(NamedTuple):
    """A place where two answers differ."""

    path: str
    ours: Any
    theirs: Any


class Difference(NamedTuple):
    """A question that the endpoint answered differently."""

    question: Question
    places: tuple[Place, ...]
    lasting: bool
    """Whether the answers still differed when it was asked again."""

    @property
    def kind(self) -> tuple[str, str]:
        """The method and the first place; differences of one cause mostly share them."""
        return self.question.method, self.places[0].path


class Endpoint(NamedTuple):
    """Connections to a worker."""

    thrift: RawClient
    http: httpx.Client

    def answer(self, question: Question) -> Answer:
        if question.path is not None:
            return http_questions.answer(self.http, question)
        try:
            return self.thrift.call(question.method, question.given)
        except TApplicationException as error:
            # Relayed: a metastore fails where what it reads is dropped meanwhile.
            return str(error)


class Comparison:
    """Compares answers, and counts the comparisons."""

    def __init__(self, endpoints: Many[Endpoint], metastore: RawClient, sequence: Sequence) -> None:
        self._endpoints = endpoints
        self._metastore = metastore
        self._sequence = sequence
        self.equal: Counter[str] = Counter()
        self.moving: Counter[str] = Counter()
        """By method, the questions without a result, because the metastore changed all the time."""
        self.unknown: Counter[str] = Counter()
        """By method, the questions that this release of the metastore doesn't know."""

    def ask(self, questions: Iterable[Question]) -> Difference | None:
        """Compares answers while nobody writes, until two differ. Each answer of the metastore is
        compared with those of all workers, twice, because the second answer to what was cold comes
        from the cache.
        """
        expected: list[tuple[Question, Answer]] = []
        for question in questions:
            theirs = self._theirs(question)
            if theirs is not None:
                expected.append((question, theirs))
        for endpoint in (*self._endpoints, *self._endpoints):
            for question, theirs in expected:
                ours = endpoint.answer(question)
                if _same(question, ours, theirs):
                    self._equal(question)
                    continue
                difference = self._different(endpoint, question, ours, theirs)
                if difference is not None:
                    return difference
        return None

    def ask_meanwhile(self, question: Question) -> Difference | None:
        """Compares the answers to a question while somebody writes: the one of the first worker
        must be that of some moment within the call.
        """
        endpoint = self._endpoints[0]
        for _ in range(ROUNDS):
            before = self._sequence.current()
            first = self._theirs(question)
            if first is None:
                return None
            ours = endpoint.answer(question)
            again = first if _same(question, ours, first) else self._theirs(question)
            if _same(question, ours, first) or _same(question, ours, again):
                self._equal(question)
                return None
            # Some changes, such as grants, don't move the sequence.
            if _same(question, first, again) and self._sequence.current() == before:
                return self._different(endpoint, question, ours, first)
        self.moving[question.method] += 1
        return None

    def _different(
        self, endpoint: Endpoint, question: Question, ours: Answer, theirs: Answer
    ) -> Difference | None:
        deadline = time.monotonic() + (CATCH_UP_S if question.by_ids else 0)
        while True:
            theirs_again = self._theirs(question)
            lasting = not _same(question, endpoint.answer(question), theirs_again)
            # A metastore that gave up a writer may do its work all the same, a while later.
            if _same(question, ours, theirs_again) or (question.by_ids and not lasting):
                self._equal(question)
                return None
            if time.monotonic() >= deadline:
                different = _differences(_value(question, ours), _value(question, theirs))
                return Difference(question, tuple(_first(different, 5)), lasting)
            time.sleep(_POLL_S)

    def _equal(self, question: Question) -> None:
        kind = "over HTTP" if question.path else question.method
        self.equal[kind] += 1

    def _theirs(self, question: Question) -> Answer | None:
        """The metastore's answer; None if its release doesn't know the method."""
        other = substitute(Call(question.method, question.given, Client()))
        try:
            if other is None:
                answer = self._metastore.call(question.method, question.given)
            else:
                answer = other.translated(self._metastore.call(other.method, other.arguments))
        except TApplicationException:
            self.unknown[question.method] += 1
            return None
        if question.path is None:
            return answer
        value = _result(question.method, answer)
        return http_questions.of_metastore(question.method, value)


def _same(question: Question, ours: Answer, theirs: Answer) -> bool:
    # Bytes are compared first, because most are equal and decoding takes longer than asking.
    return bool(ours == theirs or _value(question, ours) == _value(question, theirs))


def _value(question: Question, answer: Answer) -> Any:
    if isinstance(answer, bytes):
        return _result(question.method, answer)
    return comparable(answer, question.method in UNORDERED)


def _result(method: str, answer: bytes) -> Any:
    """The decoded result, with unordered lists sorted."""
    if method in ("get_table", "get_table_objects_by_name"):
        return decoded(method, answer)
    value = result(method, answer)
    if isinstance(value, tuple):
        return tuple(_VARYING.sub("", str(text)) for text in value)
    return comparable(value, method in UNORDERED)


def _differences(ours: Any, theirs: Any, path: str = "") -> Iterator[Place]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}, key=repr):
            yield from _differences(ours.get(key), theirs.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        if len(ours) != len(theirs):
            yield Place(f"{path}.length", len(ours), len(theirs))
        for pair in zip(ours, theirs, strict=False):
            yield from _differences(*pair, f"{path}[]")
    elif ours != theirs:
        yield Place(path, ours, theirs)


def _first(places: Iterator[Place], most: int) -> Iterator[Place]:
    for _, place in zip(range(most), places, strict=False):
        yield place


def shown(question: Question, names: Names) -> str:
    """The question as a call with short names."""
    if question.path is not None:
        return f"GET {names.short(question.path)}"
    if question.method in ("get_table", "get_table_objects_by_name"):
        return names.short(f"{question.method}({question.given!r})")
    plain_arguments: Mapping[str, Any] = idl.plain(
        deserialize(struct_of(f"{question.method}_args")(), question.given)
    )
    return names.short(
        f"{question.method}({', '.join(f'{k}={v!r}' for k, v in plain_arguments.items())})"
    )
