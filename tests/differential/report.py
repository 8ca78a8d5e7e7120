"""What a series compared, and who answered."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from query_api.reasons import Reason, Source
from tests.differential.run import Counts
from tests.support import thrift_answers

FRESH: Final = f"{Source.CACHE} {Reason.FRESH}"


class Report:
    """The figures of a series by method, from the page of the worker's metrics."""

    def __init__(self, counts: Counts, page: str) -> None:
        self.counts = counts
        self.answers: dict[str, Counter[str]] = {}
        """By method, the number of answers by source and reason."""
        for (method, source, reason), count in thrift_answers.on_page(page).items():
            self.answers.setdefault(method, Counter())[f"{source} {reason}"] += count

    def fresh_share(self) -> float:
        """The share of all answers that came from the cache."""
        answers = self.answers.values()
        return sum(of[FRESH] for of in answers) / max(1, sum(of.total() for of in answers))

    def lines(self) -> Iterator[str]:
        counts = self.counts
        yield f"{counts.compared} answers compared in {counts.runs} runs"
        yield f"{self.fresh_share():.0%} of the answers over Thrift came from the cache"
        yield f"{counts.moving.total()} questions while the metastore changed all the time"
        yield f"{counts.stuck} runs in which a metastore didn't answer its writers any more"
        yield f"{counts.unlogged} runs that ended with a truncation that may lack its event"
        for method, of in sorted(self.answers.items()):
            who_counts = ", ".join(f"{count} {who}" for who, count in of.most_common())
            yield f"  {method}: {counts.equal[method]} compared; {who_counts}"
        yield f"  over HTTP: {counts.equal['over HTTP']} compared"
        if counts.unknown:
            yield f"not compared, for the metastore failed: {dict(counts.unknown)}"
        by_action: dict[str, Counter[str]] = {}
        for (action, how), count in counts.outcomes.items():
            by_action.setdefault(action, Counter())[how] += count
        yield f"{counts.outcomes.total()} writes:"
        for action, how_many in sorted(by_action.items()):
            yield f"  {action}: " + ", ".join(f"{n} {how}" for how, n in how_many.most_common())
