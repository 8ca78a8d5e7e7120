"""The same calls of a real metastore and of caches of it, compared field by field."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from query_api.thrift.call import Call, CallAnswer, Client, Relay
from query_api.thrift.methods import CachedMethods
from tests.query_api.thrift.methods import corpus
from tests.query_api.thrift.methods.answer_areas import check_areas
from tests.query_api.thrift.methods.wire import RawClient, result


class Comparison:
    """What became of calls, by method and cache."""

    def __init__(self, caches: Mapping[str, CachedMethods]) -> None:
        self._caches = caches
        self.same: dict[str, Counter[str]] = defaultdict(Counter)
        self.relayed: dict[str, Counter[str]] = defaultdict(Counter)

    async def run(self, metastore: RawClient, calls: Iterable[corpus.Call]) -> None:
        """Each call once to the metastore, and to every cache."""
        for call in calls:
            answers = {name: await ask(cache, call) for name, cache in self._caches.items()}
            answered = {name: one for name, one in answers.items() if isinstance(one, CallAnswer)}
            for name, outcome in answers.items():
                if isinstance(outcome, Relay):
                    self.relayed[name][call.method] += 1
            if answered:
                self._compare(call, metastore.call(call.method, call.given), answered)

    def _compare(self, call: corpus.Call, theirs: bytes, answers: Mapping[str, CallAnswer]) -> None:
        expected = comparable(result(call.method, theirs), call.unordered)
        for name, answer in answers.items():
            ours = comparable(result(call.method, whole(answer)), call.unordered)
            assert ours == expected, (name, call)
            check_areas(call.method, call.given, expected, answer)
            self.same[name][call.method] += 1


async def ask(cache: CachedMethods, call: corpus.Call) -> CallAnswer | Relay:
    asked = Call(call.method, call.given, Client())
    assert call.method in cache.names
    return cache.answer_now(asked) or await cache.answer(asked)


def whole(answer: CallAnswer) -> bytes:
    found = answer.result
    if isinstance(found, bytes):
        return found
    assert isinstance(found, Iterable)
    return b"".join(found)


def comparable(value: Any, unordered: bool) -> Any:
    """A value with its lists in one order, where they have none."""
    if isinstance(value, dict):
        return {
            key: comparable(item, unordered or key == "statsObj") for key, item in value.items()
        }
    if isinstance(value, list):
        items = [comparable(item, unordered) for item in value]
        return sorted(items, key=partial(json.dumps, sort_keys=True)) if unordered else items
    return value
