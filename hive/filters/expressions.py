"""What a filter says, as a tree."""

from enum import Enum
from typing import Final

import msgspec

from hive.errors import FilterError


class Operator(Enum):
    """How a key relates to a constant. The key stands on the left."""

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
    """A key against a constant."""

    key: str
    """In lower case."""
    operator: Operator
    constant: Constant
    place: int
    """Where in the filter it stands."""


class And(msgspec.Struct, frozen=True):
    """True where all are; of no terms, everywhere."""

    terms: tuple["Expression", ...]


class Or(msgspec.Struct, frozen=True):
    """True where one is; of no terms, nowhere."""

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
    """The operator for the key on the left where it stood on the right; LIKE has none."""
    return _MIRRORED.get(operator)


def all_of(terms: list[Expression]) -> Expression:
    """AND, without needless levels."""
    flat = tuple(
        one for term in terms for one in (term.terms if isinstance(term, And) else (term,))
    )
    return flat[0] if len(flat) == 1 else And(flat)


def any_of(terms: list[Expression]) -> Expression:
    """OR, without needless levels."""
    flat = tuple(one for term in terms for one in (term.terms if isinstance(term, Or) else (term,)))
    return flat[0] if len(flat) == 1 else Or(flat)


def negated(expression: Expression, text: str) -> Expression:
    """The opposite as the metastore forms it: of each comparison, and AND against OR.

    So what can't be compared (a key without value) is in neither.
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
