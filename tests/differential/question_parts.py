"""Random parts of questions."""

from collections.abc import Sequence
from random import Random
from typing import Any, Final, NamedTuple

from tests.differential.names import DATABASES, DAYS, KEYS, NUMBERS, TABLES, TYPES, Names
from tests.differential.writers import CAPABILITIES

Fields = dict[str, Any]
NOBODY: Final = "no_such"
_ANY_TIME: Final = f"{2**63 - 1}:{2**63 - 1}::"
_NEVER: Final = f"0:{2**63 - 1}::"
# Other values match more than themselves in the metastore's LIKE, see docs/thrift-methods.md.
_PLAIN_DAYS: Final = tuple(day for day in DAYS if "_" not in day and "/" not in day)
_PLAIN_TABLES: Final = tuple(one for one in TABLES if "_" not in one)


class KnownTable(NamedTuple):
    """What is known of a table, so that questions find something."""

    db: str
    name: str
    keys: Sequence[str] = tuple(KEYS)
    columns: Sequence[str] = ()
    partitions: Sequence[str] = ()
    values: Sequence[Sequence[str]] = ()
    ids: str = ""
    id: int = -1


class QuestionParts:
    """Makes parts of arguments about one known table, and names of others."""

    def __init__(self, random: Random, names: Names) -> None:
        self._random = random
        self._names = names
        self._of: KnownTable = self._nothing()
        self._by_ids: tuple[str, str] | None = None

    def _nothing(self) -> KnownTable:
        random = self._random
        db, table = random.choice((*DATABASES, NOBODY)), random.choice((*TABLES, NOBODY))
        return KnownTable(self._names.full(db), self._names.full(table), columns=tuple(TYPES))

    def _maybe(self, value: Any, chance: float = 0.5) -> Any:
        return value if self._random.random() < chance else None

    def _db(self) -> str:
        """The database's name for old methods, with or without the catalog."""
        return self._of.db if self._random.random() < 0.8 else f"@hive#{self._of.db}"

    def _place(self) -> Fields:
        found = {"dbName": self._of.db, "tblName": self._of.name}
        return found | ({"catName": "hive"} if self._random.random() < 0.7 else {})

    def _capable(self) -> Fields:
        engine = self._random.choice((*CAPABILITIES, "", ""))
        if not engine:
            return {}
        able = CAPABILITIES[engine]
        able = None if able is None else list(able)
        return {"processorCapabilities": able, "processorIdentifier": "test"}

    def _most(self) -> int:
        return self._random.choice((-1, -1, -1, 0, 1, 2, 5, 32767))

    def _pattern(self) -> str | None:
        prefix = self._names.prefix
        one = prefix + self._random.choice(_PLAIN_TABLES)
        return self._random.choice(
            ("*", None, f"{prefix}*", one, f"{one}|{prefix}t*", f"{prefix}.", "no*", "*x*")
        )

    def _types(self) -> list[str] | None:
        of_some: tuple[list[str] | None, ...] = (
            ["MANAGED_TABLE"],
            ["EXTERNAL_TABLE", "VIRTUAL_VIEW"],
            [],
            None,
        )
        return self._random.choice(of_some)

    def _values(self) -> list[str]:
        random = self._random
        if self._of.values and random.random() < 0.8:
            return list(random.choice(self._of.values))
        return random.choice(
            ([random.choice(DAYS[:-1]), random.choice(NUMBERS)], ["no_such"] * 2, [], ["a"])
        )

    def _some_values(self) -> list[str]:
        """Values of the first key or of all keys; empty ones match any value."""
        random = self._random
        day, number = random.choice(_PLAIN_DAYS), random.choice(NUMBERS)
        return random.choice(([day], [day, ""], ["", number], ["", ""], [day, number], [""]))

    def _name(self) -> str:
        if self._of.partitions and self._random.random() < 0.8:
            return self._random.choice(self._of.partitions)
        return self._random.choice(("ds=no_such/n=1", "no_such", "ds=2024-01-01"))

    def _some_names(self) -> list[str]:
        random, there = self._random, list(self._of.partitions)
        chosen = random.sample(there, random.randrange(len(there) + 1))
        return [*chosen, "ds=no_such/n=1"] if random.random() < 0.3 else chosen

    def _filter(self) -> str:
        random, keys = self._random, list(self._of.keys) or ["ds"]
        day = random.choice([one for one in DAYS if one])
        number = random.choice(NUMBERS)
        if len(keys) < 2:
            return random.choice(("", f"{keys[0]} = '{day}'"))
        first, second = keys[:2]
        return random.choice(
            (
                "",
                f"{first} = '{day}'",
                f"{first} != '{day}'",
                f"{first} >= '{day}' and {second} = {number}",
                f"{second} > {number}",
                f"{second} <= {number} or {first} < '{day}'",
                f"({first}) in ('{day}', 'b')",
                f"{first} like '2%'",
                f"{second} between 1 and {number}",
                "no_such = 1",
                "(",
            )
        )

    def _lists(self) -> Fields:
        """The current write-id list with the table's id, by which the cache may answer; or another
        list, or none.
        """
        random, of = self._random, self._of
        if of.ids and of.id > 0 and random.random() < 0.4:
            self._by_ids = of.db, of.name
            return {"validWriteIdList": of.ids, "id": of.id}
        ids = random.choice((None, None, of.ids or None, *map(self._list, (_ANY_TIME, _NEVER))))
        return {"validWriteIdList": ids}

    def _list(self, ids: str) -> str:
        return f"{self._of.db}.{self._of.name}:{ids}"
