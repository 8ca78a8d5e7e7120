"""The few names that all objects of a run share."""

from dataclasses import dataclass
from typing import Final

DATABASES: Final = ("a", "b", "c")
"""Tables, constraints and functions share some of these names, which reveals objects that are kept
by name alone."""
TABLES: Final = ("a", "b", "t_1", "tx1")
CONSTRAINTS: Final = ("a", "b", "k")
FUNCTIONS: Final = ("a", "f")
PRINCIPALS: Final = ("ann", "bob")
ROLES: Final = ("ann", "readers")
TYPES: Final = {
    "id": "bigint",
    "name": "string",
    "at": "timestamp",
    "day": "date",
    "price": "decimal(10,2)",
    "ok": "boolean",
    "raw": "binary",
    "ratio": "double",
    "small": "tinyint",
    "code": "char(3)",
    "list": "array<int>",
}
KEYS: Final = {"ds": "string", "n": "int"}
DAYS: Final = ("2024-01-01", "x_y", "a b", "é", "a/b", "")
NUMBERS: Final = ("1", "9", "10")
_LENGTH: Final = 5


@dataclass(frozen=True)
class Names:
    """The names of one run: a script's names with a prefix that no other run has."""

    run: int

    @property
    def prefix(self) -> str:
        """The prefix. All have the same length, so that it can be replaced within the bytes of a
        question.
        """
        return f"r{self.run:0{_LENGTH - 1}}"

    def full(self, name: str) -> str:
        return f"{self.prefix}{name}"

    def short(self, text: str) -> str:
        """The text without prefixes."""
        return text.replace(self.prefix, "")
