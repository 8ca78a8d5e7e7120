"""Distributions of Python as they are installed."""

import importlib.metadata
from collections.abc import Collection, Iterator

from packaging.requirements import Requirement


def closure(name: str, extras: Collection[str]) -> Iterator[importlib.metadata.Distribution]:
    """The distributions that a distribution needs, with all that these need."""
    visited: set[tuple[str, frozenset[str]]] = set()
    waiting = [(name, frozenset(extras))]
    while waiting:
        package = waiting.pop()
        if package in visited:
            continue
        visited.add(package)
        distribution = importlib.metadata.distribution(package[0])
        if package[0] != name:
            yield distribution
        for text in distribution.requires or ():
            requirement = Requirement(text)
            marker = requirement.marker
            if marker is None or any(
                marker.evaluate({"extra": extra}) for extra in package[1] | {""}
            ):
                waiting.append((requirement.name, frozenset(requirement.extras)))
