"""Chooses, with `pytest --by-turns`, which tests take their turn at this commit.

Some tests try the same with one more release, engine or login, each for minutes, or what seldom
changes. They have the mark `by_turns(N)`: of a test's variants one in N runs. With `of=GROUP`, it
is one in N of all that have the same group: tests, or whole modules where a module has the mark.
Variants of the same name, of several tests of a group, run together, for they share what is costly
to start. The commit alone decides which, so whoever makes a change can run what others will run.
"""

from collections import defaultdict
from random import Random
from typing import Final

import pytest

from tests.support.checkout import revision

_MARK: Final = "by_turns"

_Group = tuple[str, int]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--by-turns", action="store_true", help=f"not all tests marked {_MARK}")


# Those that aren't run anyway take nobody's turn.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--by-turns"):
        return
    units = {item: _units(item) for item in items}
    groups = defaultdict[_Group, set[str]](set)
    for of_item in units.values():
        for group, unit in of_item.items():
            groups[group].add(unit)
    commit = revision() or ""
    chosen = {group: chosen_of(names, group, commit) for group, names in groups.items()}
    selected = {
        item: None
        for item, of_item in units.items()
        if all(unit in chosen[group] for group, unit in of_item.items())
    }
    config.hook.pytest_deselected(items=[item for item in items if item not in selected])
    items[:] = selected


def chosen_of(names: set[str], group: _Group, commit: str) -> set[str]:
    """One in so many of these names, and at least one."""
    label, divisor = group
    count = -(-len(names) // divisor)
    return set(Random(f"{commit} {label}").sample(sorted(names), count))


def _units(item: pytest.Item) -> dict[_Group, str]:
    """What takes turns with others, by groups: this test, or its module."""
    units: dict[_Group, str] = {}
    for node, mark in item.iter_markers_with_node(_MARK):
        (divisor,) = mark.args
        label = mark.kwargs.get("of") or node.nodeid.partition("[")[0]
        variant = getattr(node, "callspec", None)
        units[label, divisor] = node.nodeid if variant is None else variant.id
    return units
