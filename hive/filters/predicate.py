"""A filter as a function of a partition's values, built once for a table.

The tree has no NOT, so false stands for SQL's NULL, the result for a key without a value: AND and
OR never turn NULL into true, and at the top it counts as false.
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
    InList,
    Operator,
    Or,
    all_of,
)
from hive.filters.like import like
from hive.filters.semantics import CASTS, KeyType, Meaning, Meanings, Predicate, Values

MAX_TESTS: Final = 512
"""The most tests that one partition may take; comparisons that one lookup answers count once."""

_ORDERS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.LT: operator.lt,
    Operator.LE: operator.le,
    Operator.GT: operator.gt,
    Operator.GE: operator.ge,
}


def predicate(
    expression: Expression, meanings: Meanings, collation: Collation = BY_BYTES
) -> Predicate:
    """A function that takes a partition's raw values, one for each key, and returns whether it
    passes."""
    return _Builder(meanings, collation).build(expression)


class _Builder:
    def __init__(self, meanings: Meanings, collation: Collation) -> None:
        self._meanings = meanings
        self._collation = collation
        self._tests = 0

    def build(self, expression: Expression) -> Predicate:
        match expression:
            case And(terms):
                return self._every(terms)
            case Or(terms):
                return self._some(terms)
            case InList():
                listed = self._meanings.of_list(expression)
                return self.build(listed) if isinstance(listed, Or) else _one_of(*listed)
            case Comparison():
                return self._compare(self._meanings.of(expression))

    def _every(self, terms: Sequence[Expression]) -> Predicate:
        refused: dict[int, set[str]] = {}
        tests = []
        for term in terms:
            compared = self._meaning(term)
            if compared is not None and compared.is_but_one_text:
                refused.setdefault(compared.position, set()).add(compared.text)
            else:
                tests.append(self.build(term))
        return _every([_none_of(*item) for item in refused.items()] + tests)

    def _some(self, terms: Sequence[Expression], after: int = -1) -> Predicate:
        """Builds OR. However many terms require one text of a key after `after`, a lookup of the
        partition's text finds those that apply."""
        by_text: dict[int, dict[str, list[Expression]]] = {}
        tests = []
        for term in terms:
            at, rest = self._split(term, after)
            if at is None:
                tests.append(self.build(term))
            else:
                by_text.setdefault(at.position, {}).setdefault(at.text, []).append(rest)
        return _some([self._by_text(*item) for item in by_text.items()] + tests)

    def _by_text(self, position: int, rests: dict[str, list[Expression]]) -> Predicate:
        if all(EVERYTHING in rest for rest in rests.values()):
            return _one_of(position, frozenset(rests))
        tests = {text: self._some(rest, position) for text, rest in rests.items()}

        def test(values: Values) -> bool:
            test_rest = tests.get(values[position])
            return test_rest is not None and test_rest(values)

        return test

    def _split(self, term: Expression, after: int) -> tuple[Meaning | None, Expression]:
        """The comparison of a term that passes only one text, of a key after `after`, and the rest
        of the term; None and the whole term if it has none."""
        if isinstance(term, Comparison):
            compared = self._meanings.of(term)
            is_split = compared.is_one_text and compared.position > after
            return (compared, EVERYTHING) if is_split else (None, term)
        terms = term.terms if isinstance(term, And) else (term,)
        wanted = [
            (compared.position, number, compared)
            for number, compared in enumerate(map(self._meaning, terms))
            if compared is not None and compared.is_one_text and compared.position > after
        ]
        if not wanted:
            return None, term
        _, number, first = min(wanted)
        return first, all_of([*terms[:number], *terms[number + 1 :]])

    def _meaning(self, term: Expression) -> Meaning | None:
        return self._meanings.of(term) if isinstance(term, Comparison) else None

    def _compare(self, compared: Meaning) -> Predicate:
        self._tests += 1
        if self._tests > MAX_TESTS:
            raise FilterNotSupportedError(
                f"the filter makes more than {MAX_TESTS} comparisons that must be made one by one: "
                "ask in several requests"
            )
        return _comparison(compared, self._collation)


def _every(tests: Sequence[Predicate]) -> Predicate:
    match tests:
        case []:
            return lambda _: True
        case [first]:
            return first
        case [first, second]:
            return lambda values: first(values) and second(values)

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


def _comparison(compared: Meaning, collation: Collation) -> Predicate:
    if compared.is_one_text:
        position, text = compared.position, compared.text
        return lambda values: values[position] == text
    match compared.operator:
        case Operator.EQ:
            return _equal(compared)
        case Operator.NE:
            return _unequal(compared)
        case Operator.LIKE:
            return _of_text(compared.position, like(compared.text))
    return _ordered(compared, collation)


def _of_text(position: int, test: Callable[[str], bool]) -> Predicate:
    return lambda values: test(values[position])


def _equal(compared: Meaning) -> Predicate:
    """Tests equality by meaning; because of the name test only few spellings pass."""
    position, text, constant, name_test = (
        compared.position,
        compared.text,
        compared.constant,
        compared.name_test,
    )
    cast = CASTS[compared.kind]
    if name_test is None:
        assert compared.kind is KeyType.DATE
        return lambda values: (
            values[position].startswith(text) and cast(values[position]) == constant
        )

    def equal(values: Values) -> bool:
        value = values[position]
        return value == text or (cast(value) == constant and name_test(values))

    return equal


def _unequal(compared: Meaning) -> Predicate:
    test = _unequal_values(compared)
    name_test = compared.name_test
    if name_test is None:
        return test
    return lambda values: test(values) and not name_test(values)


def _unequal_values(compared: Meaning) -> Predicate:
    position, constant = compared.position, compared.constant
    if compared.kind is KeyType.TEXT:
        return lambda values: values[position] != constant
    cast = CASTS[compared.kind]

    def unequal(values: Values) -> bool:
        value = cast(values[position])
        return value is not None and value != constant

    return unequal


def _ordered(compared: Meaning, collation: Collation) -> Predicate:
    position, constant, holds = compared.position, compared.constant, _ORDERS[compared.operator]
    if compared.orders_texts and not collation.by_bytes:
        return _ordered_where_sure(compared, collation)
    if compared.kind is KeyType.TEXT:
        return lambda values: holds(values[position], constant)
    cast = CASTS[compared.kind]

    def ordered(values: Values) -> bool:
        value = cast(values[position])
        return value is not None and holds(value, constant)

    return ordered


def _ordered_where_sure(compared: Meaning, collation: Collation) -> Predicate:
    position, text, holds = compared.position, compared.text, _ORDERS[compared.operator]

    def ordered(values: Values) -> bool:
        value = values[position]
        if not collation.is_sure(value, text):
            raise UncertainOrderError(f"{collation.name} decides the order of texts")
        return holds(value, text)

    return ordered
