"""Who answered the calls over Thrift, and why, as a worker's metrics count it."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from query_api.reasons import Source
from query_api.thrift.method_kinds import is_read
from tests.support import local_http

METASTORE: Final = "metastore"
_ANSWERED = re.compile(
    r'metatide_thrift_answers_total{method="(\w+)",reason="(\w+)",source="(\w+)"} (\S+)'
)
_RELAYED = re.compile(r'metatide_thrift_relayed_total{method="(\w+)",reason="(\w+)"} (\S+)')


class ThriftAnswers(Counter[tuple[str, str, str]]):
    """The number of answers by method, source and reason."""

    def share(self, source: str = Source.CACHE) -> float:
        """The share of all answers that came from this source."""
        of_source = sum(
            count for (_, answered_by, _), count in self.items() if answered_by == source
        )
        return of_source / max(1, self.total())

    def methods(self, source: str = Source.CACHE) -> set[str]:
        """The methods of which this source answered a call."""
        return {method for method, answered_by, _ in self.positive() if answered_by == source}

    def positive(self) -> Iterator[tuple[str, str, str]]:
        return (key for key, count in self.items() if count > 0)

    def since(self, earlier: "ThriftAnswers") -> "ThriftAnswers":
        """The answers that came after the earlier ones."""
        counts = {key: count - earlier[key] for key, count in self.items()}
        return ThriftAnswers({key: count for key, count in counts.items() if count})

    def lines(self) -> Iterator[str]:
        """The share of each source, of all calls and of reads, then for each method who answered
        how often.
        """
        reads = ThriftAnswers({key: count for key, count in self.items() if _reads(key[0])})
        yield f"{self.total()} calls: {self._shares()}; {reads.total()} reads: {reads._shares()}"
        by_method: dict[str, Counter[str]] = {}
        for (method, source, reason), count in self.items():
            by_method.setdefault(method, Counter())[f"{source} {reason}"] += count
        for method, counts in sorted(by_method.items()):
            yield f"  {method}: " + ", ".join(f"{n} {who}" for who, n in counts.most_common())

    def _shares(self) -> str:
        sources = sorted({source for _, source, _ in self.positive()})
        return ", ".join(f"{self.share(source):.0%} {source}" for source in sources)


def _reads(method: str) -> bool:
    """Whether a method asks something. A heartbeat doesn't, nor does a change of settings."""
    return is_read(method) and not method.startswith(("heartbeat", "set"))


def on_page(page: str) -> ThriftAnswers:
    """The answers that a page of metrics counts."""
    answers = ThriftAnswers()
    for method, reason, source, count in _ANSWERED.findall(page):
        answers[method, source, reason] += int(float(count))
    for method, reason, count in _RELAYED.findall(page):
        answers[method, METASTORE, reason] += int(float(count))
    return answers


def of_worker(url: str) -> ThriftAnswers:
    """The answers of the worker at this address."""
    return on_page(local_http.get(f"{url}/metrics", timeout=30).text)
