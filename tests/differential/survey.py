"""Asks many questions over several connections at once."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Final

import httpx

from tests.differential.comparison import Comparison, Difference, Endpoint
from tests.differential.sequence import Sequence as NotificationSequence
from tests.differential.steps import Question
from tests.differential.world import Standing
from tests.query_api.thrift.methods import wire

CONNECTIONS: Final = 3


class Survey:
    """Comparisons, each with connections of its own."""

    def __init__(self, comparisons: Sequence[Comparison], executor: Executor) -> None:
        self.comparisons = comparisons
        self._executor = executor

    def ask(self, questions: Sequence[Question]) -> list[Difference]:
        """The differences that show while nobody writes, at most one a connection."""
        count = len(self.comparisons)
        shares = [questions[number::count] for number in range(count)]
        differences = self._executor.map(Comparison.ask, self.comparisons, shares)
        return [difference for difference in differences if difference is not None]

    def ask_meanwhile(self, questions: Sequence[Question]) -> list[Difference]:
        """The first difference that shows while somebody writes."""
        for question in questions:
            difference = self.comparisons[0].ask_meanwhile(question)
            if difference is not None:
                return [difference]
        return []


@contextmanager
def surveying(standing: Standing, sequence: NotificationSequence) -> Iterator[Survey]:
    # Writers that wait for the sequence occupy no connections of this metastore.
    metastore = standing.world.metastores.addresses[-1]
    with ExitStack() as stack:

        def endpoint(thrift: str, http: str) -> Endpoint:
            return Endpoint(
                stack.enter_context(wire.connect(thrift)),
                stack.enter_context(httpx.Client(base_url=http, timeout=60, trust_env=False)),
            )

        comparisons = [
            Comparison(
                [
                    endpoint(*addresses)
                    for addresses in zip(standing.thrift, standing.http, strict=True)
                ],
                stack.enter_context(wire.connect(metastore)),
                sequence,
            )
            for _ in range(CONNECTIONS)
        ]
        executor = stack.enter_context(ThreadPoolExecutor(CONNECTIONS))
        yield Survey(comparisons, executor)
