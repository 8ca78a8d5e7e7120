"""The workers of a group, without members that don't prove what they answer."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import click
import httpx

from hive.errors import UnprovedError
from metatide.operator_proof import worker_address

_T = TypeVar("_T")


class ProvedWorkers:
    """Workers at these URLs. One that doesn't prove its answer is named and asked no more; the last
    one that is left raises UnprovedError.
    """

    def __init__(self, urls: Iterable[str]) -> None:
        self._urls = [*urls]
        self.left_out: list[str] = []
        """The addresses of those that are asked no more."""

    def first(self, ask: Callable[[str], _T]) -> _T:
        """What the first worker answers that proves its answer."""
        return next(self.each(ask))

    def each(self, ask: Callable[[str], _T]) -> Iterator[_T]:
        """What the workers answer, one after the other."""
        for url in [*self._urls]:
            try:
                answer = ask(url)
            except UnprovedError as error:
                if self._urls == [url]:
                    raise
                self._urls.remove(url)
                self.left_out.append(worker_address(httpx.URL(url)))
                click.echo(f"left out: {error}", err=True)
            else:
                yield answer
