"""The syntax tree of a filter."""

from collections.abc import Iterator, Sequence
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
"""The constant of a comparison; a date or a timestamp is a text, as in Hive's own tree."""


class Comparison(msgspec.Struct, frozen=True):
    """A comparison of a key with a constant."""

    key: str
    """The name of the key, in lower case."""
    operator: Operator
    constant: Constant
    place: int
    """The position of the comparison in the filter."""
    is_mirrored: bool = False
    """Whether the constant stands on the left in the filter."""


class InList(msgspec.Struct, frozen=True):
    """True if a key equals any of the constants, of which there are at least two."""

    key: str
    """The name of the key, in lower case."""
    constants: tuple[Constant, ...]
    place: int
    """The position of the list's key in the filter."""

    def as_or(self) -> "Or":
        """The comparisons that the list stands for."""
        return Or(
            tuple(
                Comparison(self.key, Operator.EQ, constant, self.place)
                for constant in self.constants
            )
        )


class And(msgspec.Struct, frozen=True):
    """True if all terms are true, and if there are none."""

    terms: tuple["Expression", ...]


class Or(msgspec.Struct, frozen=True):
    """True if any term is true."""

    terms: tuple["Expression", ...]


Expression = Comparison | InList | And | Or

EVERYTHING: Final = And(())


def comparisons(expression: Expression) -> Iterator[Comparison | InList]:
    """The comparisons and lists of a filter."""
    match expression:
        case And(terms) | Or(terms):
            for term in terms:
                yield from comparisons(term)
        case _:
            yield expression


def constants_of(compared: Comparison | InList) -> Sequence[Constant]:
    """The constants that a key is compared with."""
    return compared.constants if isinstance(compared, InList) else (compared.constant,)


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
    """The operator for the same relation with its sides swapped; None for LIKE."""
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
    if len(terms) == 1:
        return terms[0]
    return Or(tuple(flat_term for term in terms for flat_term in _alternatives(term)))


def _alternatives(term: Expression) -> tuple[Expression, ...]:
    match term:
        case Or(terms):
            return terms
        case InList():
            return term.as_or().terms
    return (term,)


def negated(expression: Expression, text: str) -> Expression:
    """The negation as the metastore forms it: it negates each comparison and swaps AND and OR.

    So a partition without a value for a key passes neither a comparison with it nor the negation.
    """
    match expression:
        case And(terms):
            return Or(tuple(negated(term, text) for term in terms))
        case Or(terms):
            return And(tuple(negated(term, text) for term in terms))
        case InList():
            return negated(expression.as_or(), text)
        case Comparison(key, operator, constant, place, is_mirrored):
            opposite = _OPPOSITE.get(operator)
            if opposite is None:
                raise FilterError(text, place, "LIKE can't be negated by IS")
            if is_mirrored and operator in ORDERS:
                # The metastore forgets which side the constant is on when it negates.
                raise FilterError(text, place, "what IS negates wants the key on its left")
            return Comparison(key, opposite, constant, place, is_mirrored)
