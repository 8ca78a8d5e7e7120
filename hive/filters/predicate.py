"""A filter as a function of the values of a partition, built once for a table.

The tree has no NOT, so SQL's third truth value needs no place: what it says of a key without
value is neither passed on by AND and OR nor turned round, and at the top it counts as false.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from hive.collation import BY_BYTES, Collation
from hive.errors import FilterNotSupportedError, UncertainOrderError
from hive.filters.expressions import (
    EVERYTHING,
    And,
    Comparison,
    Expression,
    Operator,
    Or,
    all_of,
)
from hive.filters.like import like
from hive.filters.semantics import CASTS, KeyType, Meaning, PartitionKey, Predicate, Values, meaning

MAX_TESTS: Final = 512
"""Comparisons that each partition may have to go through; those with one text count together."""

_ORDERS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
}


def predicate(
    expression: Expression, keys: Sequence[PartitionKey], collation: Collation = BY_BYTES
) -> Predicate:
    """Takes the raw values of a partition, one for each key, and tells whether it passes."""
    return _Builder(keys, collation).build(expression)


class _Builder:
    def __init__(self, keys: Sequence[PartitionKey], collation: Collation) -> None:
        self._keys = keys
        self._collation = collation
        self._tests = 0

    def build(self, expression: Expression) -> Predicate:
        match expression:
            case And(terms):
                return self._every(terms)
            case Or(terms):
                return self._some(terms)
            case Comparison():
                return self._compare(meaning(expression, self._keys))

    def _every(self, terms: Sequence[Expression]) -> Predicate:
        refused: dict[int, set[str]] = {}
        tests = []
        for term in terms:
            one = self._meaning(term)
            if one is not None and one.is_but_one_text:
                refused.setdefault(one.position, set()).add(one.text)
            else:
                tests.append(self.build(term))
        return _every([_none_of(*item) for item in refused.items()] + tests)

    def _some(self, terms: Sequence[Expression], after: int = -1) -> Predicate:
        """Those that want one text of a key after this one are found by it, however many."""
        found: dict[int, dict[str, list[Expression]]] = {}
        tests = []
        for term in terms:
            at, rest = self._split(term, after)
            if at is None:
                tests.append(self.build(term))
            else:
                found.setdefault(at.position, {}).setdefault(at.text, []).append(rest)
        return _some([self._by_text(*item) for item in found.items()] + tests)

    def _by_text(self, position: int, rests: dict[str, list[Expression]]) -> Predicate:
        if all(EVERYTHING in rest for rest in rests.values()):
            return _one_of(position, frozenset(rests))
        tests = {text: self._some(rest, position) for text, rest in rests.items()}

        def test(values: Values) -> bool:
            found = tests.get(values[position])
            return found is not None and found(values)

        return test

    def _split(self, term: Expression, after: int) -> tuple[Meaning | None, Expression]:
        """The comparison with one text that the term wants of its first such key, and the rest."""
        terms = term.terms if isinstance(term, And) else (term,)
        wanted = [
            (one.position, number, one)
            for number, one in enumerate(map(self._meaning, terms))
            if one is not None and one.is_one_text and one.position > after
        ]
        if not wanted:
            return None, term
        _, number, one = min(wanted)
        return one, all_of([*terms[:number], *terms[number + 1 :]])

    def _meaning(self, term: Expression) -> Meaning | None:
        return meaning(term, self._keys) if isinstance(term, Comparison) else None

    def _compare(self, one: Meaning) -> Predicate:
        self._tests += 1
        if self._tests > MAX_TESTS:
            raise FilterNotSupportedError(
                f"the filter makes more than {MAX_TESTS} comparisons that must be made one by one: "
                "ask in several requests"
            )
        return _comparison(one, self._collation)


def _every(tests: Sequence[Predicate]) -> Predicate:
    match tests:
        case []:
            return lambda _: True
        case [one]:
            return one
        case [one, other]:
            return lambda values: one(values) and other(values)

    def every(values: Values) -> bool:
        for test in tests:  # noqa: SIM110 - all() of a generator takes three times as long
            if not test(values):
                return False
        return True

    return every


def _some(tests: Sequence[Predicate]) -> Predicate:
    if len(tests) == 1:
        return tests[0]

    def some(values: Values) -> bool:
        for test in tests:  # noqa: SIM110
            if test(values):
                return True
        return False

    return some


def _one_of(position: int, texts: frozenset[str]) -> Predicate:
    return lambda values: values[position] in texts


def _none_of(position: int, texts: set[str]) -> Predicate:
    return lambda values: values[position] not in texts


def _comparison(one: Meaning, collation: Collation) -> Predicate:
    if one.is_one_text:
        position, text = one.position, one.text
        return lambda values: values[position] == text
    match one.operator:
        case Operator.EQ:
            return _equal(one)
        case Operator.NE:
            return _unequal(one)
        case Operator.LIKE:
            return _of_text(one.position, like(one.text))
    return _ordered(one, collation)


def _of_text(position: int, test: Callable[[str], bool]) -> Predicate:
    return lambda values: test(values[position])


def _equal(one: Meaning) -> Predicate:
    """By the meaning of the value, of which the test of the name leaves few spellings."""
    position, text, constant, name_test = one.position, one.text, one.constant, one.name_test
    cast = CASTS[one.kind]
    if name_test is None:
        assert one.kind is KeyType.DATE
        return lambda values: (
            values[position].startswith(text) and cast(values[position]) == constant
        )

    def equal(values: Values) -> bool:
        value = values[position]
        return value == text or (cast(value) == constant and name_test(values))

    return equal


def _unequal(one: Meaning) -> Predicate:
    test = _unequal_values(one)
    name_test = one.name_test
    if name_test is None:
        return test
    return lambda values: test(values) and not name_test(values)


def _unequal_values(one: Meaning) -> Predicate:
    position, constant = one.position, one.constant
    if one.kind is KeyType.TEXT:
        return lambda values: values[position] != constant
    cast = CASTS[one.kind]

    def unequal(values: Values) -> bool:
        value = cast(values[position])
        return value is not None and value != constant

    return unequal


def _ordered(one: Meaning, collation: Collation) -> Predicate:
    position, constant, holds = one.position, one.constant, _ORDERS[one.operator]
    if one.orders_texts and not collation.by_bytes:
        return _ordered_where_sure(one, collation)
    if one.kind is KeyType.TEXT:
        return lambda values: holds(values[position], constant)
    cast = CASTS[one.kind]

    def ordered(values: Values) -> bool:
        value = cast(values[position])
        return value is not None and holds(value, constant)

    return ordered


def _ordered_where_sure(one: Meaning, collation: Collation) -> Predicate:
    position, text, holds = one.position, one.text, _ORDERS[one.operator]

    def ordered(values: Values) -> bool:
        value = values[position]
        if not collation.is_sure(value, text):
            raise UncertainOrderError(f"{collation.name} decides the order of texts")
        return holds(value, text)

    return ordered
