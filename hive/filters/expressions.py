"""The syntax tree of a filter."""

from enum import Enum
from typing import Final

import msgspec

from hive.errors import FilterError


class Operator(Enum):
    """The relation of a key, on the left, to a constant."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    LIKE = "LIKE"


ORDERS: Final = frozenset((Operator.LT, Operator.LE, Operator.GT, Operator.GE))

Constant = str | int
"""As in Hive's own tree, a date or a timestamp is its text."""


class Comparison(msgspec.Struct, frozen=True):
    """A comparison of a key with a constant."""

    key: str
    """In lower case."""
    operator: Operator
    constant: Constant
    place: int
    """Its position in the filter."""


class And(msgspec.Struct, frozen=True):
    """True if all terms are; without terms always true."""

    terms: tuple["Expression", ...]


class Or(msgspec.Struct, frozen=True):
    """True if any term is; without terms never true."""

    terms: tuple["Expression", ...]


Expression = Comparison | And | Or

EVERYTHING: Final = And(())

_OPPOSITE = {
    Operator.EQ: Operator.NE,
    Operator.NE: Operator.EQ,
    Operator.LT: Operator.GE,
    Operator.GE: Operator.LT,
    Operator.GT: Operator.LE,
    Operator.LE: Operator.GT,
}
_MIRRORED = {
    Operator.EQ: Operator.EQ,
    Operator.NE: Operator.NE,
    Operator.LT: Operator.GT,
    Operator.GT: Operator.LT,
    Operator.LE: Operator.GE,
    Operator.GE: Operator.LE,
}


def mirrored(operator: Operator) -> Operator | None:
    """The operator with the key moved from the right to the left; LIKE has none."""
    return _MIRRORED.get(operator)


def all_of(terms: list[Expression]) -> Expression:
    """AND, without redundant levels."""
    flat = tuple(
        flat_term
        for term in terms
        for flat_term in (term.terms if isinstance(term, And) else (term,))
    )
    return flat[0] if len(flat) == 1 else And(flat)


def any_of(terms: list[Expression]) -> Expression:
    """OR, without redundant levels."""
    flat = tuple(
        flat_term
        for term in terms
        for flat_term in (term.terms if isinstance(term, Or) else (term,))
    )
    return flat[0] if len(flat) == 1 else Or(flat)


def negated(expression: Expression, text: str) -> Expression:
    """The negation as the metastore forms it: it negates each comparison and swaps AND and OR.

    So a key that can't be compared, because it has no value, passes neither.
    """
    match expression:
        case And(terms):
            return Or(tuple(negated(term, text) for term in terms))
        case Or(terms):
            return And(tuple(negated(term, text) for term in terms))
        case Comparison(key, operator, constant, place):
            opposite = _OPPOSITE.get(operator)
            if opposite is None:
                raise FilterError(text, place, "LIKE can't be negated by IS")
            return Comparison(key, opposite, constant, place)
