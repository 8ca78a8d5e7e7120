"""Parses the text of a filter into its tree, by the metastore's grammar and within limits.

Brackets are kept on a list, not on Python's stack, so nesting can't exhaust it.
"""

from collections.abc import Sequence
from typing import Final

from hive.errors import FilterError
from hive.filters.constants import read_constant, read_constants
from hive.filters.cursor import Cursor
from hive.filters.expressions import (
    EVERYTHING,
    Comparison,
    Constant,
    Expression,
    InList,
    Operator,
    all_of,
    any_of,
    mirrored,
    negated,
)
from hive.filters.tokens import Token, TokenKind

MAX_CHARACTERS: Final = 131_072
MAX_NESTING: Final = 100
MAX_COMPARISONS: Final = 10_000
"""The most comparisons of a filter; those that IS negates count again."""

_OPERATORS = {
    "=": Operator.EQ,
    "==": Operator.EQ,
    "!=": Operator.NE,
    "<>": Operator.NE,
    "<": Operator.LT,
    "<=": Operator.LE,
    ">": Operator.GT,
    ">=": Operator.GE,
    "LIKE": Operator.LIKE,
}


def parse_filter(text: str) -> Expression:
    """The tree of a filter; an empty filter lets everything pass."""
    if len(text) > MAX_CHARACTERS:
        advice = f"a filter has at most {MAX_CHARACTERS} characters, this one {len(text)}"
        raise FilterError(text, 0, advice)
    return _Parser(text).whole() if text else EVERYTHING


class _Group:
    """The content of a pair of brackets: alternatives, each a list of terms that must all hold."""

    def __init__(self, comparisons: int) -> None:
        self.comparisons = comparisons
        """The number of comparisons made before this group."""
        self._alternatives: list[Expression] = []
        self._terms: list[Expression] = []

    def add(self, term: Expression) -> None:
        self._terms.append(term)

    def end_alternative(self) -> None:
        self._alternatives.append(all_of(self._terms))
        self._terms = []

    def close(self) -> Expression:
        self.end_alternative()
        return any_of(self._alternatives)


class _Parser:
    def __init__(self, text: str) -> None:
        self._cursor = Cursor(text)
        self._comparisons = 0

    def whole(self) -> Expression:
        cursor = self._cursor
        group = _Group(0)
        outer: list[_Group] = []
        while True:
            while self._opens_group():
                if len(outer) == MAX_NESTING:
                    raise cursor.error(f"brackets nest at most {MAX_NESTING} deep")
                cursor.take()
                outer.append(group)
                group = _Group(self._comparisons)
            group.add(self._condition())
            while outer and cursor.skip(")"):
                inner = self._close(group)
                group = outer.pop()
                group.add(inner)
            if cursor.skip("OR"):
                group.end_alternative()
            elif not cursor.skip("AND"):
                if outer or cursor.next.kind is not TokenKind.END:
                    raise cursor.expected(f"AND, OR or {')' if outer else 'the end'}")
                return group.close()

    def _close(self, group: _Group) -> Expression:
        inner = group.close()
        if self._is_true():
            return inner
        self._count(self._comparisons - group.comparisons)
        return negated(inner, self._cursor.text)

    def _opens_group(self) -> bool:
        cursor = self._cursor
        return (
            cursor.next.word == "("
            and cursor.words(2) != ["(", "STRUCT"]
            and not cursor.at_key_in_brackets()
        )

    def _condition(self) -> Expression:
        cursor = self._cursor
        if cursor.at_key_in_brackets():
            return self._in_list()
        if cursor.next.word == "(":
            return self._in_structs()
        if cursor.next.is_key:
            return self._of_key()
        place = cursor.next.place
        constant = read_constant(cursor, "a key, a constant or (")
        operator = mirrored(self._operator())
        if operator is None:
            raise FilterError(cursor.text, place, "LIKE wants the key on its left")
        return self._comparison(cursor.key(), operator, constant, place, is_mirrored=True)

    def _of_key(self) -> Expression:
        cursor = self._cursor
        key = cursor.take()
        word = cursor.next.word
        if word == "IN":
            raise cursor.error(f"write the key before IN in brackets: ({key.text}) IN (…)")
        if word in ("BETWEEN", "NOT"):
            return self._between(key)
        operator = self._operator()
        return self._comparison(key, operator, read_constant(cursor), key.place)

    def _between(self, key: Token) -> Expression:
        cursor = self._cursor
        outside = cursor.skip("NOT")
        cursor.want("BETWEEN")
        low = read_constant(cursor)
        cursor.want("AND")
        high = read_constant(cursor)
        above, below = (Operator.LT, Operator.GT) if outside else (Operator.GE, Operator.LE)
        terms: list[Expression] = [
            self._comparison(key, above, low, key.place),
            self._comparison(key, below, high, key.place),
        ]
        return any_of(terms) if outside else all_of(terms)

    def _in_list(self) -> Expression:
        cursor = self._cursor
        cursor.want("(")
        key = cursor.key()
        cursor.want(")")
        negative = cursor.skip("NOT")
        cursor.want("IN")
        constants = read_constants(cursor)
        if negative and cursor.words(2) == ["IS", "NOT"]:
            # The metastore ignores one of the two NOTs.
            raise cursor.error("NOT IN can't be followed by IS NOT")
        negative = negative is self._is_true()
        if negative or len(constants) == 1:
            return self._in_rows([key], [[constant] for constant in constants], negative=negative)
        self._count(len(constants))
        return InList(key.text, tuple(constants), key.place)

    def _in_structs(self) -> Expression:
        cursor = self._cursor
        cursor.want("(")
        cursor.want("STRUCT")
        cursor.want("(")
        keys = [self._key_of_struct()]
        while cursor.skip(","):
            keys.append(self._key_of_struct())
        cursor.want(")")
        cursor.want(")")
        negative = cursor.skip("NOT")
        cursor.want("IN")
        # The metastore's grammar takes exactly two structs.
        cursor.want("(")
        rows = [self._struct(len(keys))]
        cursor.want(",")
        rows.append(self._struct(len(keys)))
        cursor.want(")")
        return self._in_rows(keys, rows, negative=negative)

    def _key_of_struct(self) -> Token:
        if self._cursor.next.kind is TokenKind.QUOTED_NAME:
            raise self._cursor.error("the metastore knows no quoted key in STRUCT")
        return self._cursor.key()

    def _struct(self, size: int) -> Sequence[Constant]:
        cursor = self._cursor
        place = cursor.next.place
        cursor.skip("CONST")
        cursor.want("STRUCT")
        constants = read_constants(cursor)
        if len(constants) != size:
            advice = f"{len(constants)} constants for {size} keys"
            raise FilterError(cursor.text, place, advice)
        return constants

    def _in_rows(
        self, keys: Sequence[Token], rows: Sequence[Sequence[Constant]], *, negative: bool
    ) -> Expression:
        operator = Operator.NE if negative else Operator.EQ
        of_row, of_rows = (any_of, all_of) if negative else (all_of, any_of)
        alternatives: list[Expression] = []
        for row in rows:
            terms: list[Expression] = [
                self._comparison(key, operator, constant, key.place)
                for key, constant in zip(keys, row, strict=True)
            ]
            alternatives.append(terms[0] if len(terms) == 1 else of_row(terms))
        return of_rows(alternatives)

    def _is_true(self) -> bool:
        """Whether an optional IS leaves the expression before it unchanged."""
        if not self._cursor.skip("IS"):
            return True
        negative = self._cursor.skip("NOT")
        if self._cursor.skip("TRUE"):
            return not negative
        if self._cursor.skip("FALSE"):
            return negative
        raise self._cursor.expected("TRUE or FALSE")

    def _operator(self) -> Operator:
        word = self._cursor.next.word
        if word == "<=>":
            raise self._cursor.error("the metastore evaluates no <=>; write =")
        operator = _OPERATORS.get(word)
        if operator is None:
            raise self._cursor.expected("an operator")
        self._cursor.take()
        return operator

    def _comparison(
        self,
        key: Token,
        operator: Operator,
        constant: Constant,
        place: int,
        *,
        is_mirrored: bool = False,
    ) -> Comparison:
        self._count(1)
        return Comparison(key.text, operator, constant, place, is_mirrored)

    def _count(self, comparisons: int) -> None:
        self._comparisons += comparisons
        if self._comparisons > MAX_COMPARISONS:
            raise self._cursor.error(f"a filter makes at most {MAX_COMPARISONS} comparisons")
