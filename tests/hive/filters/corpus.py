"""Filters made at random, each as the text and as the SQL that the metastore makes of it.

The SQL is for PostgreSQL, over a table with the columns `name` and `v0`, `v1`, …
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from hypothesis import strategies as st

from hive.filters.semantics import PartitionKey
from hive.names import DEFAULT_PARTITION, escape_path_part

Constant = str | int
OPERATORS = ("=", "==", "!=", "<>", "<", "<=", ">", ">=")
OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
IN_SQL = {"==": "=", "!=": "<>"}
MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
CASTS = {
    "int": "decimal(21,0)",
    "bigint": "decimal(21,0)",
    "date": "date",
    "timestamp": "timestamp",
}

STRINGS = [
    *("x", "y", "X", "xy", "x y", " x", "a_b", "axb", "a%b", "a:b", "a\\b", "a\\\\b", "a''b"),
    *(
        'a"b',
        "é",
        "ä",
        "日本",
        "\U0001f600",
        "1",
        "10",
        "9",
        "09",
        "2024-01-01",
        "a___b",
        "a___1",
        "~",
    ),
    *("z=1", "z/i=1", "a=b", "%", "_", "{", "}", "[x]", "#"),
]
INSTANTS = ["2024-01-01 10:00:00", "2024-01-01 10:00:01", "1999-12-31 23:59:59"]
DAYS = ["2024-01-01", "2024-02-29", "1999-12-31", "2024-12-31"]
BIG = [9223372036854775807, -9223372036854775808]
FRACTIONS = ["1.5", "-1.5", "2.49", ".5", "9.", "1e1", "99e-1", "1.0"]
VALUES = {
    "string": [*STRINGS, "", DEFAULT_PARTITION],
    "int": [
        *("1", "2", "9", "10", "-5", "0", "01", "+7", " 4", "-0", "23"),
        *FRACTIONS,
        DEFAULT_PARTITION,
    ],
    "bigint": [*("1", "11", "007"), *map(str, BIG), DEFAULT_PARTITION],
    "date": [*DAYS, "2024-1-1", "20240615", "2024-01-01 10:00:00", DEFAULT_PARTITION],
    "timestamp": [
        *(*INSTANTS, "2024-01-01 10:00", DEFAULT_PARTITION),
        *(f"{INSTANTS[0]}{end}" for end in (".0", ".5")),
    ],
}
PATTERNS = [
    *(
        "x%",
        "%x",
        "_",
        "%",
        "a_b",
        "a\\_b",
        "a\\%b",
        "%\\\\%",
        "",
        "x_y",
        "%a%b%",
        "X",
        "é%",
        "_%_",
    ),
    *("\\x", DEFAULT_PARTITION),
]
CONSTANTS: dict[str, list[Constant]] = {
    "string": [*STRINGS, "", "zz", DEFAULT_PARTITION],
    "int": [1, 2, 5, 9, 10, -5, 0, 7, 4, 2147483648, DEFAULT_PARTITION],
    "bigint": [1, 7, 11, -1, *BIG, DEFAULT_PARTITION],
    "date": [*DAYS, "2024-06-15", DEFAULT_PARTITION],
    "timestamp": [*INSTANTS, "2030-01-01 00:00:00", DEFAULT_PARTITION],
}
IS_TRUE = [(" is true", False), (" IS NOT false", False)]
IS_FALSE = [(" is false", True), (" is not TRUE", True)]
NO_IS = [("", False), ("", False)]


@dataclass
class Sql:
    """A condition and its parameters."""

    text: str
    parameters: list[Constant] = field(default_factory=list)


@dataclass(frozen=True)
class Filter:
    text: str
    sql: Sql
    opposite: Sql | None
    """None where the metastore can't turn it round."""


class Corpus:
    """Filters for a table with certain keys."""

    def __init__(self, keys: Sequence[PartitionKey]) -> None:
        self.keys = keys

    def filters(self) -> st.SearchStrategy[Filter]:
        leaves = st.one_of(
            self._comparisons(),
            self._comparisons(),
            self._mirrored(),
            self._between(),
            self._in(),
            self._structs(),
        )
        return st.recursive(leaves, self._combined, max_leaves=6)

    def partitions(self) -> st.SearchStrategy[tuple[str, ...]]:
        return st.tuples(*(st.sampled_from(VALUES[key.type]) for key in self.keys))

    def _constant(self, position: int) -> st.SearchStrategy[tuple[str, Constant]]:
        """As it is written, and what it is."""

        @st.composite
        def build(draw: st.DrawFn) -> tuple[str, Constant]:
            type_ = self.keys[position].type
            constant = draw(st.sampled_from(CONSTANTS[type_]))
            return _write(draw, type_, constant), constant

        return build()

    def _key(self, draw: st.DrawFn, position: int, *, quoted: bool = True) -> str:
        name = self.keys[position].name
        forms = [name, name.upper()] + ([f"`{name}`"] if quoted else [])
        return draw(st.sampled_from(forms))

    def _comparisons(self) -> st.SearchStrategy[Filter]:
        @st.composite
        def build(draw: st.DrawFn) -> Filter:
            position = draw(self._positions())
            key = self._key(draw, position)
            if self.keys[position].type == "string" and draw(st.integers(0, 3)) == 0:
                pattern = draw(st.sampled_from(PATTERNS))
                text = f"{key} like '{pattern}'"
                return Filter(text, self._sql(position, "LIKE", pattern), None)
            operator = draw(st.sampled_from(OPERATORS))
            written, constant = draw(self._constant(position))
            sql_operator = IN_SQL.get(operator, operator)
            space = draw(st.sampled_from([" ", "", "\n"]))
            return Filter(
                f"{key}{space}{operator}{space}{written}",
                self._sql(position, sql_operator, constant),
                self._sql(position, OPPOSITE[sql_operator], constant),
            )

        return build()

    def _mirrored(self) -> st.SearchStrategy[Filter]:
        """Comparisons with the constant on the left, many of them under IS."""

        @st.composite
        def build(draw: st.DrawFn) -> Filter:
            position = draw(self._positions())
            operator = draw(st.sampled_from(OPERATORS))
            written, constant = draw(self._constant(position))
            sql_operator = IN_SQL.get(operator, operator)
            sql_operator = MIRRORED.get(sql_operator, sql_operator)
            sql = self._sql(position, sql_operator, constant)
            opposite = None
            if operator not in MIRRORED:
                opposite = self._sql(position, OPPOSITE[sql_operator], constant)
            return _under_is(
                draw, f"({written} {operator} {self._key(draw, position)})", sql, opposite
            )

        return build()

    def _between(self) -> st.SearchStrategy[Filter]:
        @st.composite
        def build(draw: st.DrawFn) -> Filter:
            position = draw(self._positions())
            low, least = draw(self._constant(position))
            high, most = draw(self._constant(position))
            inside = _join(
                "and", [self._sql(position, ">=", least), self._sql(position, "<=", most)]
            )
            outside = _join("or", [self._sql(position, "<", least), self._sql(position, ">", most)])
            negative = draw(st.booleans())
            text = f"{self._key(draw, position)} {'NOT ' * negative}between {low} AND {high}"
            return Filter(text, *((outside, inside) if negative else (inside, outside)))

        return build()

    def _in(self) -> st.SearchStrategy[Filter]:
        @st.composite
        def build(draw: st.DrawFn) -> Filter:
            position = draw(self._positions())
            drawn = draw(st.lists(self._constant(position), min_size=1, max_size=4))
            within = _join("or", [self._sql(position, "=", one) for _, one in drawn])
            without = _join("and", [self._sql(position, "<>", one) for _, one in drawn])
            negative = draw(st.booleans())
            written = ", ".join(text for text, _ in drawn)
            text = f"({self._key(draw, position)}) {'not ' * negative}IN ({written})"
            return Filter(text, *((without, within) if negative else (within, without)))

        return build()

    def _structs(self) -> st.SearchStrategy[Filter]:
        @st.composite
        def build(draw: st.DrawFn) -> Filter:
            positions = draw(st.lists(self._positions(), min_size=1, max_size=3))
            rows = [[draw(self._constant(one)) for one in positions] for _ in range(2)]
            within = _join("or", [self._row(positions, row, "=", "and") for row in rows])
            without = _join("and", [self._row(positions, row, "<>", "or") for row in rows])
            names = ", ".join(self._key(draw, one, quoted=False) for one in positions)
            const = draw(st.sampled_from(["const ", ""]))
            written = ", ".join(
                f"{const}struct({', '.join(text for text, _ in row)})" for row in rows
            )
            negative = draw(st.booleans())
            text = f"(struct({names})) {'not ' * negative}in ({written})"
            return Filter(text, *((without, within) if negative else (within, without)))

        return build()

    def _row(
        self,
        positions: Sequence[int],
        row: Sequence[tuple[str, Constant]],
        operator: str,
        word: Literal["and", "or"],
    ) -> Sql:
        pairs = zip(positions, row, strict=True)
        return _join(word, [self._sql(position, operator, one) for position, (_, one) in pairs])

    def _combined(self, inner: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
        @st.composite
        def build(draw: st.DrawFn) -> Filter:
            terms = draw(st.lists(inner, min_size=1, max_size=3))
            word: Literal["and", "or"] = draw(st.sampled_from(["and", "or"]))
            text = f" {word} ".join(f"({term.text})" for term in terms)
            sql = _join(word, [term.sql for term in terms])
            opposites = [term.opposite for term in terms if term.opposite]
            opposite = None
            if len(opposites) == len(terms):
                opposite = _join("or" if word == "and" else "and", opposites)
            return _under_is(draw, f"({text})", sql, opposite)

        return build()

    def _positions(self) -> st.SearchStrategy[int]:
        return st.integers(0, len(self.keys) - 1)

    def _sql(self, position: int, operator: str, constant: Constant) -> Sql:
        """A comparison in the form of HMS's PartitionFilterGenerator."""
        key = self.keys[position]
        column = f"v{position}"
        if key.type == "string" or constant == DEFAULT_PARTITION:
            escape = " ESCAPE '\\'" if operator == "LIKE" else ""
            sql = Sql(f"{column} {operator} %s{escape}", [constant])
        else:
            cast = CASTS[key.type]
            value = f"(case when {column} <> %s then cast({column} as {cast}) else null end)"
            sql = Sql(f"{value} {operator} cast(%s as {cast})", [DEFAULT_PARTITION, constant])
        if str(constant) and operator in ("=", "<>"):
            self._add_name_test(sql, position, operator, str(constant))
        return sql

    def _add_name_test(self, sql: Sql, position: int, operator: str, constant: str) -> None:
        key = self.keys[position]
        fragment = f"{escape_path_part(key.name)}={escape_path_part(constant)}"
        if key.type == "date":
            fragment += "%"
        elif len(self.keys) == 1:
            sql.text += f" and name {operator} %s"
            sql.parameters.append(fragment)
            return
        before = "%/" if position else ""
        after = "/%" if position < len(self.keys) - 1 else ""
        sql.text += f" and name {'' if operator == '=' else 'not '}like %s"
        sql.parameters.append(f"{before}{fragment}{after}")


def _under_is(draw: st.DrawFn, text: str, sql: Sql, opposite: Sql | None) -> Filter:
    """A filter in brackets, with an IS behind it or none."""
    if opposite is None:
        suffix, _ = draw(st.sampled_from(NO_IS + IS_TRUE))
        return Filter(f"({text}{suffix})", sql, None)
    suffix, turned = draw(st.sampled_from(NO_IS + IS_TRUE + IS_FALSE))
    both = (opposite, sql) if turned else (sql, opposite)
    return Filter(f"({text}{suffix})", *both)


def _join(word: Literal["and", "or"], conditions: Sequence[Sql]) -> Sql:
    text = f" {word} ".join(f"({one.text})" for one in conditions)
    return Sql(text, [parameter for one in conditions for parameter in one.parameters])


def _write(draw: st.DrawFn, type_: str, constant: Constant) -> str:
    if isinstance(constant, int):
        zeros = draw(st.sampled_from(["", "", "00"]))
        sign = draw(st.sampled_from(["-", "- "])) if constant < 0 else ""
        return f"{sign}{zeros}{abs(constant)}"
    if type_ in ("date", "timestamp") and constant != DEFAULT_PARTITION:
        form = draw(st.sampled_from(["{}", "'{}'", '"{}"', "DATE '{}'"]))
        if form.startswith("DATE") and type_ == "timestamp":
            form = "timestamp '{}'"
        return form.format(constant)
    quote = draw(st.sampled_from("'\"" if '"' not in constant else "'"))
    if "'" in constant:
        # A quote can stand in a string only by two strings side by side.
        quote = "'"
    return f"{quote}{constant}{quote}"
